import type { MetricOptions, Stability } from '#/base/metrics.ts'

type Family = Required<Pick<MetricOptions, 'name' | 'help' | 'labels'>> & { readonly stability: Stability }

/** A metric family with the stability that Kubernetes gives it. */
export function alpha(name: string, help: string, labels: readonly string[] = []): Family {
  return { name, help, labels, stability: 'ALPHA' }
}

export function beta(name: string, help: string, labels: readonly string[] = []): Family {
  return { name, help, labels, stability: 'BETA' }
}

export function stable(name: string, help: string, labels: readonly string[] = []): Family {
  return { name, help, labels, stability: 'STABLE' }
}

/** Upper bounds of `count` buckets, each `factor` times the one before. */
export function exponentialBuckets(start: number, factor: number, count: number): readonly number[] {
  // Products like 0.0001 * 2 ** 3 have digits that Go's repeated multiplication has not.
  return Array.from({ length: count }, (_, power) => Number((start * factor ** power).toPrecision(12)))
}

export const commonBuckets: readonly number[] = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]
