# Dockerfile - images of Debian, which tools/try_image tries: `docker build --target runtime -t tutti .` trains, `--target mpi`
# has Open MPI beside it, `--target sdk` compiles plugins too.  Runs are in /work:
# `docker run --rm -v "$PWD:/work" tutti train run.json`.
FROM debian:trixie-slim AS build
COPY . /tutti
WORKDIR /tutti
RUN tools/setup && apt-get install -y --no-install-recommends libopenmpi-dev \
  && tools/build release -DBUILD_TESTING=OFF -DTUTTI_EMULATOR=ON -DTUTTI_WERROR=OFF \
  && apt-get install -y --no-install-recommends dpkg-dev file \
  && cpack --config build/release/CPackConfig.cmake -B /packages

FROM debian:trixie-slim AS runtime
COPY --from=build /packages/tutti_*.deb /packages/
RUN apt-get update && apt-get install -y --no-install-recommends /packages/*.deb \
  && rm -rf /packages /var/lib/apt/lists/* && useradd --create-home --home-dir /work tutti
USER tutti
WORKDIR /work
ENTRYPOINT ["tutti"]
CMD ["train"]

FROM runtime AS mpi
USER root
COPY --from=build /packages/tutti-mpi_*.deb /packages/
RUN apt-get update && apt-get install -y --no-install-recommends openmpi-bin /packages/*.deb \
  && rm -rf /packages /var/lib/apt/lists/*
USER tutti
ENTRYPOINT []
CMD ["bash"]

FROM runtime AS sdk
USER root
COPY --from=build /packages/tutti-sdk_*.deb /packages/tutti-emulator_*.deb /packages/
RUN apt-get update && apt-get install -y --no-install-recommends build-essential cmake ninja-build pkg-config check \
  /packages/*.deb && rm -rf /packages /var/lib/apt/lists/*
USER tutti
ENTRYPOINT []
CMD ["bash"]
