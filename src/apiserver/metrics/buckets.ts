/** Kubernetes' histogram buckets, which dashboards rely on. */
export const latencyBuckets: readonly number[] = [
  0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1, 1.25, 1.5, 2, 3, 4, 5, 6, 8, 10, 15, 20, 30, 45, 60,
]

export const sizeBuckets: readonly number[] = [1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9]
