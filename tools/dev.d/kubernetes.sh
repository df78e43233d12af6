# shellcheck shell=bash
# Builds deploy/kubernetes with kustomize, and checks each resource against the schemas of Kubernetes. No cluster is needed.
#
#   .dev/cache/kustomize-VERSION/            built by Go
#   .dev/cache/kubernetes-validate-CHECKSUM/ the checker, whose package contains the schemas
#   .dev/kubernetes/NAME.yaml                the output of kustomize

KUBERNETES=$ROOT/deploy/kubernetes
KUBERNETES_VERSION=1.34 # of the schemas; preStop.sleep needs 1.30 at least
KUSTOMIZE_VERSION=v5.8.1 # later ones need Go 1.27

check_kubernetes() {
  local home kustomize folder built status=0
  can_use go python3 || return 0
  [[ ${CI:-} != true ]] || require_venv
  kustomize=$CACHE_DIR/kustomize-$KUSTOMIZE_VERSION/kustomize
  [[ -x $kustomize ]] || locked build_kustomize "$kustomize" || return
  home=$CACHE_DIR/kubernetes-validate-$(cksum <"$KUBERNETES/validate/requirements.txt" | cut -d ' ' -f 1)
  [[ -e $home/ready ]] || locked install_python "$home" "$KUBERNETES/validate/requirements.txt" || return
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
