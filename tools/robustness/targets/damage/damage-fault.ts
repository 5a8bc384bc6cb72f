/**
 * Damages the files of an embedded store after SIGKILL. The server must start with everything that was acknowledged, or
 * refuse and say why. After a refusal the undamaged files are put back, or one of the documented ways is gone.
 */
import type { SeededRandom } from '#/base/seeded-random.ts'
import type { HistoryRecorder, RevisionRange } from '#/simulation/history/history.ts'
import type { Fault } from '../../faults.ts'
import type { ProcessEnd, ServerProcess } from '../server-process.ts'
import { describeDamages, planDamages, type FileDamage } from './file-damage.ts'
import type { ClusterFiles } from './cluster-files.ts'

export interface DamageFaultOptions {
  readonly server: ServerProcess
  readonly files: ClusterFiles
  readonly recorder: HistoryRecorder
  /** Creates the namespace of the history if it is missing. */
  readonly ensureNamespace: () => Promise<void>
}

export function damageFault(options: DamageFaultOptions): Fault {
  const { server, files } = options
  return {
    kind: 'damage',
    parts: ['api-server', 'disk'],
    inject: async random => {
      await server.kill()
      await files.saveCopy()
      const damages = planDamages(await files.list(), random)
      for (const damage of damages) await files.damage(damage)
      const checked = await files.k8ts('store', 'check')
      return async () => {
        const outcome = await new Recovery(options, { damages, checked }).run(random)
        return { what: describeDamages(damages), outcome }
      }
    },
  }
}

type Outcome = 'harmless' | 'put back' | 'repaired' | 'restored'

interface Damaged {
  readonly damages: readonly FileDamage[]
  readonly checked: ProcessEnd
}

class Recovery {
  readonly #options: DamageFaultOptions
  readonly #damaged: Damaged

  constructor(options: DamageFaultOptions, damaged: Damaged) {
    this.#options = options
    this.#damaged = damaged
  }

  async run(random: SeededRandom): Promise<Outcome> {
    const { checked } = this.#damaged
    const end = await this.#options.server.startOnce()
    if (end === undefined) {
      if (checked.code !== 0)
        this.#violation('the server starts, but k8ts store check reports damage', checked)
      return 'harmless'
    }
    if (checked.code !== 1 || !/^damage: ./mu.test(checked.output))
      this.#violation('k8ts store check does not report damage that prevents a start', checked)
    if (end.code !== 1 || !refusal.test(end.output)) {
      this.#violation('the server exits without saying what is damaged and how to go on', end)
      return this.#putBack()
    }
    const ways = [() => this.#putBack(), () => this.#repair(), () => this.#restore()]
    return ways[random.integer(ways.length)]!()
  }

  /** Nothing may be lost. */
  async #putBack(): Promise<Outcome> {
    const { files, server } = this.#options
    await files.putBackCopy()
    const end = await server.startOnce()
    if (end === undefined) return 'put back'
    this.#violation('the server does not start with the undamaged files', end)
    throw new Error(`the server does not start with its undamaged files: ${end.output}`)
  }

  async #repair(): Promise<Outcome> {
    const { files } = this.#options
    const shown = await files.k8ts('store', 'repair')
    if (shown.code !== 1 || !shown.output.includes('Nothing was changed'))
      this.#violation('k8ts store repair does not show what it would lose', shown)
    const repaired = await files.k8ts('store', 'repair', '--accept-loss')
    const revision = numberIn(repaired.output, /the store continues at revision (\d+)/u)
    if (repaired.code !== 0 || revision === undefined) {
      this.#violation('k8ts store repair fails', repaired)
      return this.#putBack()
    }
    await this.#startEpoch({ revision, lost: lossesIn(repaired.output) })
    return 'repaired'
  }

  /** The newest snapshot that is not damaged: snapshots share the files of the store. */
  async #restore(): Promise<Outcome> {
    const { files } = this.#options
    for (const path of await files.snapshots()) {
      const restored = await files.k8ts('snapshot', 'restore', path)
      const snapshotRevision = numberIn(restored.output, /keys of revision (\d+);/u)
      const revision = numberIn(restored.output, /the store continues at (\d+)/u)
      if (restored.code === 0 && revision !== undefined && snapshotRevision !== undefined) {
        const lost = [{ after: snapshotRevision, last: revision }]
        await this.#startEpoch({ revision, lost, snapshotRevision })
        return 'restored'
      }
      if (!/the snapshot .* is damaged/u.test(restored.output))
        this.#violation('k8ts snapshot restore fails', restored)
    }
    return this.#repair()
  }

  async #startEpoch(replaced: {
    readonly revision: number
    readonly lost: readonly RevisionRange[]
    readonly snapshotRevision?: number
  }): Promise<void> {
    const { files, server, recorder, ensureNamespace } = this.#options
    const objects = await files.readObjects()
    recorder.write({ type: 'epoch', startMs: recorder.nowMs(), ...replaced, objects })
    const end = await server.startOnce()
    if (end !== undefined) {
      this.#violation('the server does not start after a repair', end)
      throw new Error(`the server does not start after a repair: ${end.output}`)
    }
    await ensureNamespace()
  }

  #violation(text: string, { code, output }: ProcessEnd): void {
    const damages = describeDamages(this.#damaged.damages)
    const end = `exit code ${code}: ${output.slice(-outputShownMax)}`
    this.#options.recorder.write({ type: 'violation', text: `${text} (${damages}): ${end}` })
  }
}

const outputShownMax = 2_000

/** What is affected, and how to go on. */
const refusal = new RegExp(
  'the store in \\S+ is damaged: .+: .+ Restore a snapshot with "k8ts snapshot restore", ' +
    'or .* with "k8ts store repair --accept-loss"',
  'u',
)

/** From the report of a repair. */
function lossesIn(output: string): RevisionRange[] {
  const lost = [...output.matchAll(/^lost: (?:\S+ at )?revisions? (\d+)(?: to (\d+))?/gmu)]
  const compacted = numberIn(output, /^losses up to revision (\d+)/mu) ?? 0
  return [
    { after: 0, last: compacted },
    ...lost.map(([, first, last = first]) => ({ after: Number(first) - 1, last: Number(last) })),
  ]
}

function numberIn(text: string, pattern: RegExp): number | undefined {
  const digits = pattern.exec(text)?.[1]
  return digits === undefined ? undefined : Number(digits)
}
