# SPDX-License-Identifier: MIT
# pith in a container:
#     docker build -t pith .
#     docker run --rm -v "$PWD:/work" pith compress net.onnx -d pictures/ -o net.pith
FROM debian:12-slim AS build
COPY . /pith
WORKDIR /pith
RUN apt-get update && apt-get install -y --no-install-recommends make && sh tests/deps.sh build build
RUN make -j"$(nproc)" NVCC= && make NVCC= install PREFIX=/usr/local DESTDIR=/installed

FROM debian:12-slim
RUN apt-get update && \
    apt-get install -y --no-install-recommends libarchive13 libjansson4 libjpeg62-turbo libmicrohttpd12 \
    libpng16-16 libprotobuf-c1 libsndfile1 zlib1g && \
    rm -rf /var/lib/apt/lists/*
COPY --from=build /installed/usr/local /usr/local
RUN ldconfig && pith version
WORKDIR /work
ENTRYPOINT ["pith"]
