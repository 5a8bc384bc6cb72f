import type { Factory } from '../factory.ts'

/** Throws Error if the server has no metrics API. */
export async function requireMetrics(factory: Factory): Promise<void> {
  const { discovery } = await factory.restMapper()
  const isAvailable = async (): Promise<boolean> => {
    const metrics = (await discovery.groups()).find(({ name }) => name === 'metrics.k8s.io')
    return metrics?.versions.some(({ version }) => version === 'v1beta1') ?? false
  }
  if (await isAvailable()) return
  // The cache may be older than the metrics server.
  if (!discovery.isFresh) discovery.invalidate()
  if (!(await isAvailable())) throw new Error('Metrics API not available')
}
