/**
 * Checks a kubelet's writes to Nodes: it may create and update its own, except the fields that influence
 * which pods are scheduled to it.
 */
import type { Node } from '#/api/generated/core/v1.ts'
import { equalJson } from '#/api/text/json-value.ts'
import type { Labels } from '#/api/labels.ts'
import { admissionForbidden, type AdmissionAttributes } from '../../admission-chain.ts'

export function checkNode(request: AdmissionAttributes, nodeName: string): void {
  if (request.name !== nodeName) {
    throw admissionForbidden(request, `node "${nodeName}" is not allowed to modify node "${request.name}"`)
  }
  if (request.operation === 'CREATE') checkNew(request, nodeName)
  if (request.operation === 'UPDATE') checkChange(request, nodeName)
}

function checkNew(request: AdmissionAttributes, nodeName: string): void {
  const { spec, metadata } = request.object as Node
  if (spec?.configSource !== undefined) {
    throw admissionForbidden(
      request,
      `node "${nodeName}" is not allowed to create pods with a non-nil configSource`,
    )
  }
  const forbidden = Object.keys(metadata.labels ?? {})
    .filter(isForbidden)
    .sort()
  if (forbidden.length === 0) return
  throw admissionForbidden(
    request,
    `node "${nodeName}" is not allowed to set the following labels: ${forbidden.join(', ')}`,
  )
}

function checkChange(request: AdmissionAttributes, nodeName: string): void {
  const node = request.object as Node
  const oldObject = request.oldObject as Node
  const { configSource } = node.spec ?? {}
  if (configSource !== undefined && !equalJson(configSource, oldObject.spec?.configSource)) {
    throw admissionForbidden(
      request,
      `node "${nodeName}" is not allowed to update configSource to a new non-nil configSource`,
    )
  }
  if (!equalJson(node.spec?.taints ?? [], oldObject.spec?.taints ?? [])) {
    throw admissionForbidden(request, `node "${nodeName}" is not allowed to modify taints`)
  }
  // With an owner reference to a missing object, the garbage collector would delete the Node, and the kubelet
  // could recreate it with other labels and taints.
  if (!equalJson(node.metadata.ownerReferences ?? [], oldObject.metadata.ownerReferences ?? [])) {
    throw admissionForbidden(request, `node "${nodeName}" is not allowed to modify ownerReferences`)
  }
  const forbidden = changedKeys(node.metadata.labels ?? {}, oldObject.metadata.labels ?? {}).filter(
    isForbidden,
  )
  if (forbidden.length > 0)
    throw admissionForbidden(request, `is not allowed to modify labels: ${forbidden.join(', ')}`)
}

function changedKeys(labels: Labels, oldLabels: Labels): readonly string[] {
  const keys = new Set([...Object.keys(labels), ...Object.keys(oldLabels)])
  return [...keys].filter(key => labels[key] !== oldLabels[key]).sort()
}

/** Kubernetes labels that describe the machine, which a kubelet may set. */
const kubeletLabels: ReadonlySet<string> = new Set([
  'kubernetes.io/hostname',
  'kubernetes.io/os',
  'kubernetes.io/arch',
  'beta.kubernetes.io/os',
  'beta.kubernetes.io/arch',
  'topology.kubernetes.io/zone',
  'topology.kubernetes.io/region',
  'failure-domain.beta.kubernetes.io/zone',
  'failure-domain.beta.kubernetes.io/region',
  'node.kubernetes.io/instance-type',
  'beta.kubernetes.io/instance-type',
])

/**
 * True for labels under node-restriction.kubernetes.io, and for other kubernetes.io and k8s.io labels except
 * those that kubelets may set.
 */
function isForbidden(label: string): boolean {
  const domain = label.includes('/') ? label.slice(0, label.indexOf('/')) : ''
  if (isWithin(domain, 'node-restriction.kubernetes.io')) return true
  if (!isWithin(domain, 'kubernetes.io') && !isWithin(domain, 'k8s.io')) return false
  return (
    !kubeletLabels.has(label) &&
    !isWithin(domain, 'kubelet.kubernetes.io') &&
    !isWithin(domain, 'node.kubernetes.io')
  )
}

function isWithin(domain: string, parent: string): boolean {
  return domain === parent || domain.endsWith(`.${parent}`)
}
