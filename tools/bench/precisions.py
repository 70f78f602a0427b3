"""Both precisions of a row: our f32 over our bf16, and the faster precision of the peer over ours."""
DTYPES = ("f32", "bf16")


def fastest(both, key):
    """The precision with the least time."""
    return min(DTYPES, key=lambda dtype: both[dtype][key])


def compared(rows):
    """[{"row", "against", "f32_over_bf16", "ours_best"}] of rows that have both, with "peer_best" and "best_with_best" where
    the peer has both, too."""
    by, found = {}, []
    for r in rows:
        by.setdefault((r["row"], r["against"]), {})[r["dtype"]] = r
    for (row, against), both in by.items():
        if not all(dtype in both for dtype in DTYPES):
            continue
        ours = fastest(both, "ours_ms")
        found.append({"row": row, "against": against, "ours_best": ours,
                      "f32_over_bf16": both["f32"]["ours_ms"] / both["bf16"]["ours_ms"]})
        if all("peer_ms" in both[dtype] for dtype in DTYPES):
            peer = fastest(both, "peer_ms")
            found[-1].update(peer_best=peer, best_with_best=both[peer]["peer_ms"] / both[ours]["ours_ms"])
    return found


def table(found):
    """The second table; a peer other than plain PyTorch stands beside the row's name."""
    lines = ["| row | our f32 over our bf16 | best with best | our best | the peer's best |", "|---|---|---|---|---|"]
    for r in found:
        name = f"{r['row']}, {r['against']}" if r["against"] not in ("", "torch") else r["row"]
        best = f"{r['best_with_best']:.2f}" if "best_with_best" in r else ""
        lines.append(f"| {name} | {r['f32_over_bf16']:.2f} | {best} | {r['ours_best']} | {r.get('peer_best', '')} |")
    return "\n".join(lines)
