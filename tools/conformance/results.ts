import type { ProxyMode } from '#/proxy/proxier.ts'

/** The results of a run, as `results.json` has them. */
export interface Results {
  /** Version of the suite: v1.36.4. */
  readonly suite: string
  readonly k8ts: {
    readonly version: string
    /** Absent outside of a git checkout. */
    readonly commit?: string
    /** Files of the checkout were changed since the commit. */
    readonly isModified: boolean
  }
  readonly machine: Machine
  /** Version of containerd; absent when pods were simulated. */
  readonly containerd?: string
  readonly nodes: number
  /** Of the service proxy; absent: nftables. */
  readonly proxyMode?: ProxyMode
  readonly processes: number
  /** The label filter that selected the tests; absent: conformance tests. */
  readonly labels?: string
  /** The regular expression that chose among the selected tests; absent when all ran. */
  readonly focus?: string
  /** RFC 3339. */
  readonly started: string
  /** Of the whole run, with the start of the cluster and its removal. */
  readonly seconds: number
  readonly isInterrupted: boolean
  readonly tests: readonly TestResult[]
}

export interface Machine {
  readonly os: string
  readonly kernel: string
  readonly cores: number
  readonly memoryBytes: number
}

export interface TestResult {
  readonly name: string
  /** `sig-apps`; `suite` for what belongs to no test, such as the set-up of the suite. */
  readonly sig: string
  readonly state: TestState
  /** Absent when it did not end. */
  readonly seconds?: number
  /** Of a failure, an interrupt, or the reason for skipping. */
  readonly message?: string
}

/** `interrupted`: it was running when the suite was stopped. `not-run`: it was chosen, but never began. */
export type TestState = 'passed' | 'failed' | 'skipped' | 'interrupted' | 'not-run'

export function sigOf(name: string): string {
  return /^\[(sig-[\w-]+)\]/.exec(name)?.[1] ?? 'suite'
}

export interface PhaseOutcome {
  /** Names of the tests that were to run. */
  readonly planned: readonly string[]
  /** From Ginkgo's report; empty when there is none. */
  readonly reported: readonly TestResult[]
  /** From what the suite printed; counts where there is no report because the suite was killed. */
  readonly printed: readonly TestResult[]
}

/** Ginkgo's report counts; for a test that is missing in it, what the suite printed does. */
export function mergeOutcomes(outcomes: readonly PhaseOutcome[]): readonly TestResult[] {
  return outcomes.flatMap(({ planned, reported, printed }) => {
    const known = new Map([...printed, ...reported].map(test => [test.name, test]))
    const missing = planned.filter(name => !known.has(name))
    return [
      ...known.values(),
      ...missing.map((name): TestResult => ({ name, sig: sigOf(name), state: 'not-run' })),
    ]
  })
}

/** Every test that ran passed, and at least one ran. */
export function isSuccess({ tests }: Pick<Results, 'tests'>): boolean {
  return tests.some(({ state }) => state === 'passed') && tests.every(({ state }) => !isFailure(state))
}

export function isFailure(state: TestState): boolean {
  return state === 'failed' || state === 'interrupted' || state === 'not-run'
}
