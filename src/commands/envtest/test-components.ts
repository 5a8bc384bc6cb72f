/** The components beside the API server of a cluster for tests: controllers, scheduler and simulated nodes. */
import { UsageError } from '#/base/flags.ts'
import type { ControlPlaneSettings } from '#/cluster.ts'

export interface TestComponents {
  readonly controllers: boolean
  readonly scheduler: boolean
  /** Number of simulated nodes. */
  readonly nodes: number
}

/** Parses the value of K8TS_ENVTEST: `controllers,scheduler,nodes=3`. Throws UsageError. */
export function parseTestComponents(text: string): TestComponents {
  const words = text.split(',').flatMap(word => word.trim() || [])
  const none: TestComponents = { controllers: false, scheduler: false, nodes: 0 }
  return Object.assign(none, ...words.map(parseWord))
}

function parseWord(word: string): Partial<TestComponents> {
  if (word === 'controllers' || word === 'scheduler') return { [word]: true }
  const nodes = parseNodeCount(/^nodes=(.*)$/.exec(word)?.[1] ?? '')
  if (nodes !== undefined) return { nodes }
  throw new UsageError(`${word} must be controllers, scheduler or nodes=N`)
}

/** Undefined if the text is not a number from 0 to 9999. */
export function parseNodeCount(text: string): number | undefined {
  return /^\d{1,4}$/.test(text) ? Number(text) : undefined
}

/** Undefined when only the API server runs. Throws UsageError. */
export function controlPlaneOf({
  controllers,
  scheduler,
  nodes,
}: TestComponents): ControlPlaneSettings | undefined {
  if (nodes > 0 && !controllers) {
    throw new UsageError('nodes require controllers, which remove the taint node.kubernetes.io/not-ready')
  }
  if (!controllers && !scheduler) return undefined
  return {
    components: [
      ...(controllers ? ['controllers' as const] : []),
      ...(scheduler ? ['scheduler' as const] : []),
    ],
    nodes: nodes > 0 ? { type: 'simulated', count: nodes } : { type: 'none' },
  }
}
