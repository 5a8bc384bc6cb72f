/** Why a failing test fails, where the cause is known. The first that matches the test's name is taken. */
export interface KnownCause {
  readonly tests: RegExp
  readonly cause: string
}

export const knownCauses: readonly KnownCause[] = [
  {
    tests: /\bCustomResource|\bcustom resource\b|\bCRD?s?\b|\bdeny crd creation\b/,
    cause: 'custom resources are not served yet',
  },
  {
    tests: /\bSample API Server using the current Aggregator\b/,
    cause: 'the aggregation layer does not exist yet',
  },
  {
    tests: /\bat least two untainted nodes\b|\bDaemon set .*should rollback without unnecessary restarts\b/,
    cause: 'needs two nodes',
  },
  {
    tests: /\bImageVolume\b/,
    cause: 'the container runtime cannot mount images: containerd can from 2.1 on',
  },
]
