/** One attack on a fresh server, with another client beside it. */
import { spawn } from 'node:child_process'
import { mkdtempDisposable } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import { startApiServer, usageOf } from '../../bench/api/processes.ts'
import type { Target } from '../../bench/api/load.ts'
import type { Attack } from './attacks.ts'
import type { OtherClientReport } from './other-client.ts'
import { Session } from './session.ts'

export interface AttackResult extends OtherClientReport {
  readonly isAlive: boolean
  /** The longest block of the server's event loop, unless the machine gave it no CPU. */
  readonly blockMs: number
  /** What blocked it, such as `request`. */
  readonly blockCause: string
  readonly memory: MemoryReport
  readonly outcome: string
}

/** Resident memory of the server. */
export interface MemoryReport {
  readonly beforeMb: number
  readonly peakMb: number
  /** After the attack, when what it created was deleted and the server had time to settle. */
  readonly settledMb: number | undefined
}

export interface RunAttackOptions {
  /** Share of the full attack. */
  readonly scale: number
  /** Time that the server has before its memory is measured: once before the attack and once after; 0 for neither. */
  readonly settleMs: number
}

const memoryIntervalMs = 100

export async function runAttack(
  attack: Attack,
  { scale, settleMs }: RunAttackOptions,
): Promise<AttackResult> {
  await using temporary = await mkdtempDisposable(join(tmpdir(), 'k8ts-load-'))
  const heap = attack.heapMb === undefined ? {} : { NODE_OPTIONS: `--max-old-space-size=${attack.heapMb}` }
  await using server = await startApiServer(temporary.path, { ...process.env, ...heap })
  const { target, pid } = server
  await sleep(settleMs)
  using memory = new PeakMemory(pid)
  await attack.prepare?.(target, scale)
  const other = startOtherClient(join(temporary.path, 'admin.conf'))
  const outcome = await attack.run(target, scale)
  await attack.cleanUp?.(target)
  const report = await other.stop()
  const block = memory.nowMb() !== undefined ? await longestBlock(target) : { blockMs: 0, blockCause: 'none' }
  await sleep(settleMs)
  const isAlive = memory.nowMb() !== undefined
  return { ...report, ...block, outcome, isAlive, memory: memory.report(settleMs > 0) }
}

/** Measures the resident memory of a process until it is disposed. */
export class PeakMemory implements Disposable {
  readonly #pid: number
  readonly #beforeMb: number
  readonly #interval: NodeJS.Timeout
  #peakMb: number

  constructor(pid: number) {
    this.#pid = pid
    this.#beforeMb = this.nowMb() ?? 0
    this.#peakMb = this.#beforeMb
    this.#interval = setInterval(() => {
      this.#peakMb = Math.max(this.#peakMb, this.nowMb() ?? 0)
    }, memoryIntervalMs)
  }

  /** Undefined if the process has ended. */
  nowMb(): number | undefined {
    try {
      return usageOf(this.#pid).memoryMb
    } catch {
      return undefined
    }
  }

  report(isSettled: boolean): MemoryReport {
    const settledMb = isSettled ? this.nowMb() : undefined
    return { beforeMb: this.#beforeMb, peakMb: this.#peakMb, settledMb }
  }

  [Symbol.dispose](): void {
    clearInterval(this.#interval)
  }
}

/** From the metrics of the server. */
export async function longestBlock(target: Target): Promise<Pick<AttackResult, 'blockMs' | 'blockCause'>> {
  using session = new Session(target)
  const metrics = await session.text('/metrics')
  const found = metrics.matchAll(/^nodejs_event_loop_block_seconds_max\{cause="(.*)"\} (.*)$/gmu)
  const blocks = [...found].map(([, blockCause = '', seconds]) => ({
    blockCause,
    blockMs: Number(seconds) * 1e3,
  }))
  const ours = blocks.filter(({ blockCause }) => blockCause !== 'not running')
  return ours.toSorted((left, right) => right.blockMs - left.blockMs)[0] ?? { blockMs: 0, blockCause: 'none' }
}

export function startOtherClient(kubeconfig: string) {
  const program = join(import.meta.dirname, 'other-client.ts')
  const child = spawn(process.execPath, [program, kubeconfig], { stdio: ['pipe', 'pipe', 'inherit'] })
  const printed = text(child.stdout)
  return {
    stop: async (): Promise<OtherClientReport> => {
      child.stdin.end()
      return JSON.parse(await printed) as OtherClientReport
    },
  }
}
