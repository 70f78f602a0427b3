#!/usr/bin/env bash
# class_names_test.sh - a number stands for one class in the training data, each evaluation's and a checkpoint.
. "$(dirname "$0")/lib.sh"

# pictures FOLDER CLASS...: four grey pictures of each class.
pictures() {
  python3 - "$@" <<'PY'
import os, struct, sys, zlib

def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

for c, name in enumerate(sys.argv[2:]):
    os.makedirs(sys.argv[1] + "/" + name)
    for k in range(4):
        rows = b"".join(b"\0" + bytes([60 * c + 10 * k + x for x in range(8)]) for _ in range(8))
        with open("%s/%s/%d.png" % (sys.argv[1], name, k), "wb") as f:
            f.write(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", 8, 8, 8, 0, 0, 0, 0))
                    + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))
PY
}

pictures three ant bee cat
pictures again ant bee cat
pictures lacks ant cat
pictures last ant bee
pictures more ant bee cat dog
mkdir plain && cp three/ant/*.png plain

cat >run.json <<'JSON'
{"name": "named", "seed": 1, "model": {"name": "mlp", "num_classes": 3, "hidden": [4]},
 "train": {"dataset": {"name": "image_folder", "path": "three", "channels": "grey"}, "transforms": [{"name": "to_float"}], "batch_size": 4},
 "eval": [{"label": "test", "dataset": {"name": "image_folder", "path": "again", "channels": "grey"}, "transforms": [{"name": "to_float"}],
           "batch_size": 4, "metrics": [{"name": "accuracy"}]}],
 "optimizer": {"name": "sgd", "lr": 0.01}, "max_duration": "1ep", "threads": 1,
 "callbacks": [{"name": "checkpoint_saver", "folder": "saves"}]}
JSON
data() { echo "--set=$1.dataset.path=$2"; }

check "the same classes" eval '"$TUTTI" train run.json >out.txt 2>err.txt && [ ! -s err.txt ]'
check "whose names the checkpoint has" grep -aq '"classes": *"{\\"target\\": \[\\"ant\\", \\"bee\\", \\"cat\\"\]}"' "$(latest .)"
checkpoint=$(latest .)
other='class 1 of "target" is "cat" in the data of evaluation test and "bee" in'
says "an evaluation of other classes" 2 \
  "tutti: $other the training data, want the same classes in the same order" \
  "$TUTTI" train run.json "$(data eval.0 lacks)"
printf '%s\n' ant bee cat >classes.txt
check "which a file puts right" eval '"$TUTTI" train run.json "$(data eval.0 lacks)" --set "callbacks=[]" --set eval.0.dataset.class_file=classes.txt >out.txt 2>err.txt && [ ! -s err.txt ]'
check "classes that do not occur are no fault" eval '"$TUTTI" train run.json --set "callbacks=[]" "$(data eval.0 last)" >out.txt 2>err.txt && [ ! -s err.txt ]'
check "classes that nobody learns are told" eval '"$TUTTI" eval run.json --checkpoint "$checkpoint" "$(data eval.0 more)" --set eval.0.subset_num_batches=3 >out.txt 2>err.txt;
  grep -q "\"target\" has 4 classes in the data of evaluation test and 3 in the training data" err.txt'
check "no names, no word" eval '"$TUTTI" predict run.json --checkpoint "$checkpoint" --output out.npy "$(data eval.0 plain)" --set eval.0.dataset.labels=none >out.txt 2>err.txt && [ ! -s err.txt ]'

# A checkpoint, and data of other classes for training and evaluation alike.
both=("$(data train lacks)" "$(data eval.0 lacks)")
fault='class 1 of "target" is "cat" in the training data and "bee" in '"$checkpoint"', want the same classes in the same order'
for command in "eval" "predict --output out.csv"; do
  says "$command" 1 "tutti: $fault" "$TUTTI" $command run.json --checkpoint "$checkpoint" "${both[@]}"
done
says "a run that goes on" 1 "tutti: $fault" "$TUTTI" train run.json --resume "$checkpoint" --duration 2ep "${both[@]}"
says "weights that are not trained on" 1 "tutti: $fault" "$TUTTI" eval run.json --set load_weights="$checkpoint" "${both[@]}"
check "one who wants it nevertheless is told" eval '"$TUTTI" eval run.json --checkpoint "$checkpoint" --set load_strict=false "${both[@]}" >out.txt 2>err.txt &&
  grep -qF "$fault" err.txt && grep -q accuracy out.txt'
check "so is one who trains on" eval '"$TUTTI" train run.json --set load_weights="$checkpoint" --set "callbacks=[]" --set name=on "${both[@]}" >out.txt 2>err.txt && sed "s|$work/||g" err.txt | grep -qF "$fault"'
check "a head that is left out has no classes" eval '"$TUTTI" train run.json --set load_weights="$checkpoint" --set "load_ignore_keys=[\"model.*head*\"]" --set "callbacks=[]" --set name=off "${both[@]}" >out.txt 2>err.txt &&
  ! grep -q "class 1 of" err.txt'
finish
