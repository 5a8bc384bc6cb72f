import type { KillContainer } from '../plan-pod.ts'
import { killContainer } from './kill-container.ts'
import type { PodContext } from './pod-context.ts'
import type { Tasks } from './tasks.ts'

export interface ContainerKillsOptions {
  readonly context: PodContext
  readonly tasks: Tasks
}

/** Minimum grace period after it was shortened. */
const hurrySecondsMin = 1

/** Kills containers of a pod and tracks kills in progress. All state is keyed by container id. */
export class ContainerKills {
  /** Containers to be restarted regardless of the restart policy. */
  readonly restarting = new Set<string>()
  readonly #options: ContainerKillsOptions
  readonly #inProgress = new Map<
    string,
    { readonly graceSeconds: number; readonly shortening: AbortController }
  >()

  constructor(options: ContainerKillsOptions) {
    this.#options = options
  }

  begin(action: KillContainer): void {
    const { context, tasks } = this.#options
    const key = killKey(action.id)
    const known = this.#inProgress.get(action.id)
    if (known !== undefined && tasks.isRunning(key)) {
      if (action.graceSeconds < known.graceSeconds) this.#shortenGracePeriod(action, known.shortening)
      return
    }
    if (!tasks.mayBegin(key)) return
    if (action.isRestarted) this.restarting.add(action.id)
    const shortening = new AbortController()
    this.#inProgress.set(action.id, { graceSeconds: action.graceSeconds, shortening })
    tasks.begin(key, () => {
      const kill = {
        pod: context.pod(),
        action,
        addresses: this.#addresses(),
        steps: context.steps,
        isRepeated: known !== undefined,
        othersGone: () => tasks.ended(action.after.map(killKey)),
        signal: shortening.signal,
      }
      return context.steps.run('kill', action.name, () => killContainer(context.dependencies, kill))
    })
  }

  forget(id: string): void {
    this.#inProgress.delete(id)
    this.restarting.delete(id)
  }

  /**
   * The grace period was shortened: stops waiting for hooks and other containers, and sends another stop to
   * the runtime.
   */
  #shortenGracePeriod(action: KillContainer, shortening: AbortController): void {
    const { context, tasks } = this.#options
    const { id, graceSeconds } = action
    this.#inProgress.set(id, { graceSeconds, shortening })
    shortening.abort(new Error('grace period was shortened'))
    const leftSeconds = Math.max(graceSeconds, hurrySecondsMin)
    tasks.begin(`shorten ${id} ${graceSeconds}`, () =>
      context.dependencies.runtime.stopContainer(id, leftSeconds),
    )
  }

  #addresses(): readonly string[] {
    const { dependencies, pod, observed } = this.#options.context
    return pod().spec?.hostNetwork ? dependencies.node.addresses : (observed().sandboxes[0]?.addresses ?? [])
  }
}

export function killKey(containerId: string): string {
  return `kill ${containerId}`
}
