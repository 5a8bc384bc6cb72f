/** What a process holds, from /proc. */
import { readdirSync, readFileSync } from 'node:fs'
import { usageOf } from '../../bench/api/processes.ts'
import type { ProcessUsage } from './report.ts'

export class ProcessSampler {
  readonly #pid: number
  #atMs = performance.now()
  #cpuSeconds: number

  constructor(pid: number) {
    this.#pid = pid
    this.#cpuSeconds = usageOf(pid).cpuSeconds
  }

  /** CPU usage is that since the last sample. */
  sample(): ProcessUsage {
    const { memoryMb, cpuSeconds } = usageOf(this.#pid)
    const nowMs = performance.now()
    const cpuPercent = ((cpuSeconds - this.#cpuSeconds) / (nowMs - this.#atMs)) * 1e5
    this.#atMs = nowMs
    this.#cpuSeconds = cpuSeconds
    const descriptors = readdirSync(`/proc/${this.#pid}/fd`).length
    const [, threads] = /^Threads:\s+(\d+)$/mu.exec(readFileSync(`/proc/${this.#pid}/status`, 'utf8')) ?? []
    return { memoryMb, descriptors, threads: Number(threads), cpuPercent }
  }
}
