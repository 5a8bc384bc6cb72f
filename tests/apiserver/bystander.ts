import { setTimeout as sleep } from 'node:timers/promises'
import { RawClient, type Access } from './raw-client.ts'

export interface BystanderReport {
  readonly slowestMs: number
  readonly answers: number
  readonly failures: readonly string[]
}

/** A well-behaved client that reads an object continuously and records the latency. */
export class Bystander implements Disposable {
  readonly #client: RawClient
  readonly #path: string
  #slowestMs = 0
  #answers = 0
  readonly #failures: string[] = []
  #isOver = false

  private constructor(client: RawClient, path: string) {
    this.#client = client
    this.#path = path
  }

  static async start(access: Access, path: string): Promise<Bystander> {
    const bystander = new Bystander(await RawClient.open(access), path)
    void bystander.#run()
    return bystander
  }

  /** Results since the last report. */
  report(): BystanderReport {
    const slowestMs = Math.round(this.#slowestMs)
    const report = { slowestMs, answers: this.#answers, failures: this.#failures.splice(0) }
    this.#slowestMs = 0
    this.#answers = 0
    return report
  }

  [Symbol.dispose](): void {
    this.#isOver = true
    this.#client[Symbol.dispose]()
  }

  async #run(): Promise<void> {
    while (!this.#isOver) {
      const startedMs = performance.now()
      const outcome = await this.#client.ask({ path: this.#path })
      if (this.#isOver) return
      this.#slowestMs = Math.max(this.#slowestMs, performance.now() - startedMs)
      if ('status' in outcome && outcome.status === 200) this.#answers++
      else this.#failures.push(JSON.stringify(outcome))
      await sleep(pauseMs)
    }
  }
}

const pauseMs = 2
