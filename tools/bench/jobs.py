"""What is measured: every row of rows/ in both precisions, against which settings of the peer."""
import dataclasses

QUICK_SECONDS = 660  # for the rows of --quick, in all; whole runs of the recipe come after
# Rows without a run file: one optimizer's updates of so many weights, f32.
OPTIMIZERS = ["o_adamw_25600000", "o_adamw_1024000", "o_sgd_25600000", "o_sgd_1024000"]
IMAGES = ("b3", "b4", "b5", "b6", "b9_vit")
SETTINGS = ["plain", "foreach", "fused", "compile+fused"]
COMPOSER = ["composer+foreach", "composer+fused"]
WEIGHTS = {"b5_resnet18": 2, "b6_resnet50": 4, "b7_gpt": 2, "b8_gpt2_124m": 3,
           "b9_bert_mini": 2, "b9_vit_tiny": 2, "b10_resnet20_recipe": 2, "b10_gpt_recipe": 2}
# What a recipe's steps are timed with: as its batches are at the end of its run.
GROWN = {"b10_resnet20_recipe": "algorithms.2.initial_scale=1.0",
         "b10_gpt_recipe": "algorithms.2.min_seq_length=256"}


@dataclasses.dataclass
class Job:
    row: str
    dtype: str
    composer: bool = False  # the peer's steps by Composer's Trainer
    llmc: bool = False

    @property
    def recipe(self):
        return self.row in GROWN

    @property
    def weight(self):
        return 0.1 if self.llmc else 0.5 if self.row.startswith("o_") else WEIGHTS.get(self.row, 1)

    @property
    def changes(self):
        """Of the run file, for the peer's pace: a recipe's whole run is timed apart."""
        return ['callbacks=[{"name":"pace"}]', "max_duration=1000000ep",
                GROWN[self.row]] if self.recipe else []

    @property
    def older(self):
        """Settings for --quick that torch before 2.0 has too."""
        return ["nhwc+foreach", "foreach"] if self.row.startswith(IMAGES) else ["foreach"]

    def settings(self, quick):
        if self.composer:
            return COMPOSER[1:] if quick else COMPOSER
        if self.row.startswith("o_"):
            return ["fused"] if quick else ["plain", "foreach", "fused"]
        if self.row.startswith(IMAGES):
            every = SETTINGS + ["nhwc+" + s for s in SETTINGS]
            return ["nhwc+fused", "nhwc+compile+fused"] if quick else every
        return ["fused", "compile+fused"] if quick else SETTINGS


def all_rows(here):
    files = [p.stem for p in (here / "rows").glob("*.json")]
    return sorted(files, key=lambda f: (int(f[1:].split("_")[0]), f)) + OPTIMIZERS


def all_jobs(here, dtypes):
    jobs = []
    for row in all_rows(here):
        for dtype in ["f32"] if row in OPTIMIZERS else dtypes or ["f32", "bf16"]:
            jobs.append(Job(row, dtype, composer=row == "b10_resnet20_recipe"))
            if row == "b1_mlp_tiny":
                jobs.append(Job(row, dtype, composer=True))
            if row == "b8_gpt2_124m" and dtype == "f32":
                jobs.append(Job(row, dtype, llmc=True))
    return jobs
