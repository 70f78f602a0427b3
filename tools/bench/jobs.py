"""What is measured: every row of rows/ in both precisions, against which settings of the peer."""
import dataclasses

QUICK_SECONDS = 660  # for the rows of --quick, in all; whole runs of the recipe come after
# Rows without a run file: one optimizer's updates of so many weights, f32.
OPTIMIZERS = ["o_adamw_25600000", "o_adamw_1024000", "o_sgd_25600000", "o_sgd_1024000"]
# Rows of a program that starts and trains one step: without choices of kernels on disk, and with them.
FIRST = ["t_b4_resnet20", "t_b7_gpt", "t_b8_gpt2_124m"]
IMAGES = ("b3", "b4", "b5", "b6", "b9_vit")
SETTINGS = ["plain", "foreach", "fused", "compile+fused"]
COMPOSER = ["composer+foreach", "composer+fused"]
WEIGHTS = {"b5_resnet18": 2, "b6_resnet50": 4, "b7_gpt": 2, "b8_gpt2_124m": 3,
           "b9_bert_mini": 2, "b9_vit_tiny": 2, "b10_resnet20_recipe": 2, "b10_gpt_recipe": 2}
# What a recipe's steps are timed with: as its batches are at the end of its run.
GROWN = {"b10_resnet20_recipe": "algorithms.2.initial_scale=1.0",
         "b10_gpt_recipe": "algorithms.2.min_seq_length=256"}


@dataclasses.dataclass
class Variant:
    """A row of another one's run file with changes, without a peer."""
    row: str
    changes: list
    files: str = ""  # of samples_files.py, in the folder FILES of the changes
    plan: bool = False  # planned alone, by kernels that are not measured


VARIANTS = {
    "d_b4_resnet20_mds": Variant("b4_resnet20", [
        'train.dataset={"name":"mds","path":"FILES/images","cache_mib":0,"inflated_mib":4,'
        '"shuffle_algo":"py1s","num_canonical_nodes":1}',
        'train.transforms=[{"name":"random_crop","padding":4},{"name":"random_flip"},'
        '{"name":"normalize","mean":[0.5,0.5,0.5],"std":[0.25,0.25,0.25]}]'], files="images"),
    "d_b7_gpt_tokens": Variant("b7_gpt", [
        'train.dataset={"name":"tokens_bin","path":"FILES/tokens.bin","length":256,"vocabulary_size":65}'],
        files="characters"),
    "p_gpt2_xl": Variant("b8_gpt2_124m", ["model.n_layer=48", "model.n_head=25", "model.n_embd=1600"], plan=True),
}


@dataclasses.dataclass
class Job:
    row: str  # whose run file it is
    dtype: str
    composer: bool = False  # the peer's steps by Composer's Trainer
    llmc: bool = False
    first: str = ""  # "cold" or "warm": the time to the first step
    variant: str = ""  # the name in VARIANTS, whose row it is then

    @property
    def name(self):
        return self.variant or (f"t_{self.row}" if self.first else self.row)

    @property
    def kind(self):
        return f"{self.dtype} {self.first}".strip()

    @property
    def plan(self):
        return bool(self.variant) and VARIANTS[self.variant].plan

    @property
    def files(self):
        return VARIANTS[self.variant].files if self.variant else ""

    @property
    def bounded(self):
        """Whether the machine has a bound for its step; Composer's steps of a plain row have the bound of that row."""
        return not self.first and not self.plan and not self.llmc and (self.recipe or not self.composer)

    @property
    def against(self):
        """Whose steps the peer's are."""
        return "llm.c" if self.llmc else "Composer" if self.composer else "torch"

    @property
    def recipe(self):
        return self.row in GROWN

    @property
    def weight(self):
        if self.llmc or self.plan:
            return 0.1
        if self.row.startswith("o_") or self.variant:
            return 0.5
        return WEIGHTS.get(self.row, 1) * (0.3 if self.first else 1)

    @property
    def changes(self):
        """Of the run file; for the peer's pace, too: a recipe's whole run is timed apart."""
        if self.variant:
            return VARIANTS[self.variant].changes
        return ['callbacks=[{"name":"pace"}]', "max_duration=1000000ep",
                GROWN[self.row]] if self.recipe else []

    @property
    def older(self):
        """Settings for --quick that torch before 2.0 has too."""
        return ["nhwc+foreach", "foreach"] if self.row.startswith(IMAGES) else ["foreach"]

    def settings(self, quick):
        if self.composer:
            return COMPOSER[1:] if quick else COMPOSER
        if self.first:
            return ["nhwc+fused" if self.row.startswith(IMAGES) else "fused"]
        if self.row.startswith("o_"):
            return ["fused"] if quick else ["plain", "foreach", "fused"]
        if self.row.startswith(IMAGES):
            every = SETTINGS + ["nhwc+" + s for s in SETTINGS]
            return ["nhwc+fused", "nhwc+compile+fused"] if quick else every
        return ["fused", "compile+fused"] if quick else SETTINGS


def all_rows(here):
    files = [p.stem for p in (here / "rows").glob("*.json")]
    return sorted(files, key=lambda f: (int(f[1:].split("_")[0]), f)) + [*OPTIMIZERS, *FIRST, *VARIANTS]


def all_jobs(here, dtypes, llmc):
    """`llmc`: a checkout of llm.c is there to compare with."""
    jobs = []
    for row in all_rows(here):
        if row in FIRST:
            jobs += [Job(row[2:], "f32", first=how) for how in ("cold", "warm")]
            continue
        if row in VARIANTS:
            one = VARIANTS[row]
            jobs += [Job(one.row, dtype, variant=row) for dtype in (["f32"] if one.plan else dtypes or ["f32", "bf16"])]
            continue
        for dtype in ["f32"] if row in OPTIMIZERS else dtypes or ["f32", "bf16"]:
            jobs.append(Job(row, dtype, composer=row == "b10_resnet20_recipe"))
            if row == "b1_mlp_tiny":
                jobs.append(Job(row, dtype, composer=True))
            if row == "b8_gpt2_124m" and dtype == "f32" and llmc:
                jobs.append(Job(row, dtype, llmc=True))
    return jobs
