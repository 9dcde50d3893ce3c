# syntax=docker/dockerfile:1
# The hub and the agent as images without anything else in them:
#
#   docker build --target hub -t waymark-hub .
#   docker build --target agent -t waymark-agent .
#
# Both run as a user without rights and write nowhere but into /state, which is
# where a volume belongs.
FROM golang:1.26 AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
# The native code of the built-in resolvers is made for the CPU features of the
# machine that builds; elsewhere the agent compiles them once. It is linked twice,
# so that it can map its code (see internal/tools/aot).
RUN make guest native && \
    CGO_ENABLED=0 go build -trimpath -buildvcs=false -ldflags='-s -w' -o /out/ ./cmd/hub ./cmd/supervisor && \
    link="-s -w $(packaging/helper.sh /out/supervisor)" && \
    CGO_ENABLED=0 go build -trimpath -buildvcs=false -ldflags="$link" -o /out/ ./cmd/agent && \
    go run ./internal/tools/aot -place /out/agent host/builtin/dist/builtin.native && \
    CGO_ENABLED=0 go build -trimpath -buildvcs=false -ldflags="$link" -o /out/ ./cmd/agent && \
    install -d -m 0700 -o 65532 -g 65532 /empty

FROM scratch AS base
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/
COPY --from=build --chown=65532:65532 /empty /state
ENV XDG_STATE_HOME=/state XDG_CACHE_HOME=/state/cache XDG_RUNTIME_DIR=/state/run
VOLUME /state
USER 65532:65532

FROM base AS agent
COPY --from=build /out/agent /out/supervisor /
ENTRYPOINT ["/agent"]
CMD ["run", "--root", "/workspace"]

FROM base AS hub
COPY --from=build /out/hub /hub
# 9090 is for Prometheus, without a token: publish it only to who may know how the
# hub is doing.
EXPOSE 7878 9090
# It asks the hub that runs here, by whatever flags.
HEALTHCHECK --interval=10s --timeout=5s CMD ["/hub", "ready", "--readers"]
ENTRYPOINT ["/hub"]
# A container's address isn't loopback: name a certificate, or say --insecure
# where the network between can be trusted.
CMD ["serve", "--http", "0.0.0.0:7878", "--monitor", "0.0.0.0:9090", "--tls-cert", "/tls/tls.crt", "--tls-key", "/tls/tls.key"]
