import { createHash } from 'node:crypto'
import { kindRulesOf } from '#/api/builtin.ts'
import { formatFieldErrors } from '#/api/field-error.ts'
import type { Pod } from '#/api/generated/core/v1.ts'
import { pods } from '#/api/generated/core/v1-resources.ts'
import { objectOf } from '#/api/metadata.ts'
import { checkDns1123Label, checkDns1123Subdomain } from '#/api/names.ts'
import { strictDecode } from '#/api/decoding/strict-decode.ts'
import type { KubeletPod } from '../kubelet-pod.ts'

export interface ManifestOrigin {
  readonly path: string
  readonly nodeName: string
}

interface PodRules {
  readonly withDefaults: (pod: KubeletPod) => KubeletPod
  readonly validate: (pod: KubeletPod) => Parameters<typeof formatFieldErrors>[0]
}

/**
 * Parses a static pod manifest. The node's name is appended to the pod's name, and the UID defaults to a hash
 * of content, node and path, so that a changed file is a different pod. Throws if the text is not a valid
 * pod.
 */
export function parseManifest(bytes: Uint8Array, { path, nodeName }: ManifestOrigin): KubeletPod {
  const { group, version, kind } = pods
  const options = { expected: { group, version, kind }, fieldValidation: 'Ignore' } as const
  // Kind rules accept only objects of their own kind.
  const rules = kindRulesOf(group, kind) as unknown as PodRules
  const { value } = strictDecode(bytes, { mediaType: 'application/yaml', schema: pods.schema, ...options })
  const decoded = objectOf(value) as Pod
  const { name, namespace = 'default', annotations } = decoded.metadata
  if (!name) throw new Error('invalid pod: name is needed for the pod')
  const uid = decoded.metadata.uid || hashOf([decoded, `host:${nodeName}`, `file:${path}`])
  const faults = [...checkDns1123Subdomain(name), ...checkDns1123Label(namespace), ...checkDns1123Label(uid)]
  if (faults.length > 0) throw new Error(`invalid pod: ${faults.join('; ')}`)
  const { status: _, ...written } = decoded
  const pod = rules.withDefaults({
    ...written,
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      ...decoded.metadata,
      name: `${name}-${nodeName.toLowerCase()}`,
      namespace,
      uid,
      annotations: { ...annotations, [hashAnnotation]: uid, [sourceAnnotation]: 'file' },
    },
    spec: { ...specOf(decoded), nodeName },
  })
  const errors = rules.validate(pod)
  if (errors.length > 0) throw new Error(`invalid pod: ${formatFieldErrors(errors)}`)
  return { ...pod, status: { phase: 'Pending' } }
}

const hashAnnotation = 'kubernetes.io/config.hash'
export const sourceAnnotation = 'kubernetes.io/config.source'

/** Static pods tolerate all NoExecute taints, so that they are not evicted from an unhealthy node. */
function specOf({ spec }: Pod): NonNullable<Pod['spec']> {
  const toleration = { operator: 'Exists', effect: 'NoExecute' }
  const { tolerations = [], ...rest } = spec ?? { containers: [] }
  const others = tolerations.filter(({ key, effect }) => key || effect !== toleration.effect)
  return { ...rest, tolerations: [...others, toleration] }
}

function hashOf(parts: readonly unknown[]): string {
  return createHash('sha256').update(JSON.stringify(parts)).digest('hex').slice(0, 32)
}
