import type { KubernetesObject } from '#/api/metadata.ts'
import type { Resource } from '#/api/resource.ts'
import type { Random } from '#/platform/platform.ts'

export type Workload = KubernetesObject & {
  readonly spec?: { readonly replicas?: number; readonly template?: object }
}

/** A random workload of a kind. */
export function workloadOf(
  kind: Resource<Workload>,
  at: { readonly namespace: string; readonly name: string },
  random: Random,
): Workload {
  const labels = { app: `${kind.singular}-${at.name}` }
  if (kind.plural === 'jobs') return { metadata: at, spec: jobSpec(labels, random) }
  const template = { metadata: { labels }, spec: { containers } }
  const spec = { selector: { matchLabels: labels }, template, ...specOf(kind, at.name, random) }
  return { metadata: at, spec }
}

const containers = [{ name: 'main', image: 'image-0' }]
const completing = [{ name: 'main', image: 'image-0', command: ['sleep', '1'] }]

function specOf({ plural }: Resource, name: string, random: Random): object {
  const replicas = random.integer('replicas', 6)
  switch (plural) {
    case 'deployments':
      return { replicas, strategy: rollout(random) }
    case 'statefulsets': {
      const isParallel = random.integer('parallel', 4) === 0
      return { replicas, serviceName: name, ...(isParallel && { podManagementPolicy: 'Parallel' }) }
    }
    case 'daemonsets': {
      const hasSurge = random.integer('daemon surge', 3) === 0
      const rollingUpdate = { maxSurge: 1, maxUnavailable: 0 }
      return hasSurge ? { updateStrategy: { rollingUpdate } } : {}
    }
    default:
      return { replicas }
  }
}

/** One in four jobs always fails. */
function jobSpec(labels: Readonly<Record<string, string>>, random: Random): object {
  const fails = random.integer('failing job', 4) === 0
  const annotations = { 'simulated.k8ts.io/exit-code': '1' }
  return {
    completions: 1 + random.integer('replicas', 6),
    parallelism: 1 + random.integer('parallelism', 3),
    // Containers die in faults, too.
    backoffLimit: fails ? 1 : 1_000,
    template: {
      metadata: { labels, ...(fails && { annotations }) },
      spec: { containers: completing, restartPolicy: 'Never' },
    },
  }
}

function rollout(random: Random): object {
  if (random.integer('strategy', 5) === 0) return { type: 'Recreate' }
  const maxSurge = random.integer('surge', 3)
  const maxUnavailable = random.integer('unavailable', 3)
  return {
    rollingUpdate: {
      maxSurge,
      maxUnavailable: maxSurge === 0 ? Math.max(1, maxUnavailable) : maxUnavailable,
    },
  }
}
