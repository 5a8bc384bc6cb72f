/**
 * Runs long simulations in a worker thread: the test runner tracks every promise of its own thread, which
 * costs more than the simulation itself.
 */
import { once } from 'node:events'
import { Worker } from 'node:worker_threads'

/** Resolves with the posted result. Rejects with the error of the thread. */
export async function inWorker<Result>(file: URL, data: unknown): Promise<Result> {
  const worker = new Worker(file, { workerData: data })
  try {
    const [result] = (await once(worker, 'message')) as [Result]
    return result
  } finally {
    await worker.terminate()
  }
}
