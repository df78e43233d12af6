# shellcheck shell=bash
# Builds deploy/kubernetes with kustomize, and checks each resource against the schemas of Kubernetes. No cluster is needed.
#
#   .dev/cache/kustomize-VERSION/            built by Go
#   .dev/cache/kubernetes-validate-CHECKSUM/ the checker, whose package contains the schemas
#   .dev/kubernetes/NAME.yaml                the output of kustomize

KUBERNETES=$ROOT/deploy/kubernetes
KUBERNETES_VERSION=1.34 # of the schemas; preStop.sleep needs 1.30 at least
KUSTOMIZE_VERSION=v5.8.1 # later ones need Go 1.27
GATEWAY_API_VERSION=v1.4.1 # of HTTPRoute, which is no resource of Kubernetes itself

check_kubernetes() {
  local home kustomize folder built status=0
  can_use go python3 || return 0
  [[ ${CI:-} != true ]] || require_venv
  kustomize=$CACHE_DIR/kustomize-$KUSTOMIZE_VERSION/kustomize
  [[ -x $kustomize ]] || locked build_kustomize "$kustomize" || return
  home=$CACHE_DIR/kubernetes-validate-$(cksum <"$KUBERNETES/validate/requirements.txt" | cut -d ' ' -f 1)
  [[ -e $home/ready ]] || locked install_python "$home" "$KUBERNETES/validate/requirements.txt" || return
  add_route_schema "$home" || return
  mkdir -p "$IDEM_DEV_DIR/kubernetes"
  for folder in base overlays/example; do
    built=$IDEM_DEV_DIR/kubernetes/${folder##*/}.yaml
    "$kustomize" build "$KUBERNETES/$folder" >"$built" &&
      "$home/bin/kubernetes-validate" --quiet --strict -k "$KUBERNETES_VERSION" "$built" && continue
    say "deploy/kubernetes/$folder is wrong: see above"
    status=1
  done
  return "$status"
}

build_kustomize() { # program
  say "building kustomize $KUSTOMIZE_VERSION"
  GOBIN=$(dirname "$1") go install "sigs.k8s.io/kustomize/kustomize/v5@$KUSTOMIZE_VERSION"
}

# The schema of HTTPRoute is in a Go module, beside the programs.
add_route_schema() { # folder of the checker
  local module schemas
  module=$(cd / && go mod download -json "sigs.k8s.io/gateway-api@$GATEWAY_API_VERSION" | sed -n 's/^\t"Dir": "\(.*\)",$/\1/p')
  schemas=$(echo "$1"/lib/python3*/site-packages/kubernetes_validate/kubernetes-json-schema/v"$KUBERNETES_VERSION".0-local-strict)
  "$1/bin/python" "$KUBERNETES/validate/httproute.py" "$module/config/crd/standard/gateway.networking.k8s.io_httproutes.yaml" "$schemas"
}
