/**
 * A thread of its own for long simulations: the test runner looks at every promise of its own thread, which costs more
 * than the simulation itself.
 */
import { once } from 'node:events'
import { Worker } from 'node:worker_threads'

/** What the thread posts as its result. Rejects with what it throws. */
export async function inWorker<Result>(file: URL, data: unknown): Promise<Result> {
  const worker = new Worker(file, { workerData: data })
  try {
    const [result] = (await once(worker, 'message')) as [Result]
    return result
  } finally {
    await worker.terminate()
  }
}
