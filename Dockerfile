# Dockerfile - two images of Debian, which tools/try_image tries: `docker build --target runtime -t tutti .` trains,
# `--target sdk` compiles plugins too.  Runs are in /work: `docker run --rm -v "$PWD:/work" tutti train run.json`.
FROM debian:trixie-slim AS build
COPY . /tutti
WORKDIR /tutti
RUN tools/setup && tools/build release -DBUILD_TESTING=OFF -DTUTTI_EMULATOR=ON -DTUTTI_WERROR=OFF \
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

FROM runtime AS sdk
USER root
COPY --from=build /packages/tutti-sdk_*.deb /packages/tutti-emulator_*.deb /packages/
RUN apt-get update && apt-get install -y --no-install-recommends build-essential cmake ninja-build pkg-config check \
  /packages/*.deb && rm -rf /packages /var/lib/apt/lists/*
USER tutti
ENTRYPOINT []
CMD ["bash"]
