# tutti.bash - completion of tutti for bash: the program itself says what a word may become.
_tutti() {
  local words=() answers=() cur k text
  # Bash takes --key=value apart; it is one word here.
  for ((k = 1; k <= COMP_CWORD; k++)); do
    if [[ ${#words[@]} -gt 0 && (${COMP_WORDS[k]} == = || ${COMP_WORDS[k - 1]} == =) ]]; then
      words[${#words[@]} - 1]+=${COMP_WORDS[k]}
    else
      words+=("${COMP_WORDS[k]}")
    fi
  done
  cur=${COMP_WORDS[COMP_CWORD]}
  [[ $cur == = ]] && cur=
  COMPREPLY=()
  mapfile -t answers < <("${COMP_WORDS[0]}" docs complete -- "${words[@]}" 2>/dev/null)
  for text in "${answers[@]}"; do
    case $text in
    :file | :folder)
      compopt -o filenames 2>/dev/null
      [[ $text == :file ]] && k=-f || k=-d
      mapfile -t -O ${#COMPREPLY[@]} COMPREPLY < <(compgen $k -- "$cur")
      ;;
    *) COMPREPLY+=("${text%%$'\t'*}") ;;
    esac
  done
}
complete -F _tutti tutti
