import type { Results } from './results.ts'

/** A run of three tests: one passes, one fails, one is skipped. */
export const testResults: Results = {
  suite: 'v1.36.4',
  k8ts: { version: '0.1.0', commit: '0123456789abcdef0123', isModified: false },
  machine: { os: 'Debian GNU/Linux 12', kernel: '6.1.0', cores: 2, memoryBytes: 8 * 2 ** 30 },
  containerd: '1.6.20',
  nodes: 1,
  processes: 12,
  started: '2026-11-16T03:00:00.000Z',
  seconds: 130,
  isInterrupted: false,
  tests: [
    { name: '[sig-node] Pods <start> [Conformance]', sig: 'sig-node', state: 'passed', seconds: 12.5 },
    {
      name: '[sig-apps] Job "a & b" [Conformance]',
      sig: 'sig-apps',
      state: 'failed',
      seconds: 3,
      message: 'Unexpected error:\n    <*errors.StatusError | 0xc0>: \n    no \u001B[31mjob\u0000',
    },
    {
      name: '[sig-node] GPUs [Conformance]',
      sig: 'sig-node',
      state: 'skipped',
      seconds: 0,
      message: 'no GPU',
    },
  ],
}
