/** Deprecated node labels with the text of the warning. */
export const deprecatedNodeLabels: ReadonlyMap<string, string> = new Map([
  ['beta.kubernetes.io/arch', replacedSince('v1.14', 'kubernetes.io/arch')],
  ['beta.kubernetes.io/os', replacedSince('v1.14', 'kubernetes.io/os')],
  ['failure-domain.beta.kubernetes.io/region', replacedSince('v1.17', 'topology.kubernetes.io/region')],
  ['failure-domain.beta.kubernetes.io/zone', replacedSince('v1.17', 'topology.kubernetes.io/zone')],
  ['beta.kubernetes.io/instance-type', replacedSince('v1.17', 'node.kubernetes.io/instance-type')],
  ['app.kubernetes.io/created-by', 'deprecated since v1.9'],
  [
    'scheduler.alpha.kubernetes.io/preferAvoidPods',
    'deprecated since v1.22; use Taints and Tolerations instead',
  ],
  ['node-role.kubernetes.io/master', 'use "node-role.kubernetes.io/control-plane" instead'],
])

function replacedSince(version: string, label: string): string {
  return `deprecated since ${version}; use "${label}" instead`
}
