/**
 * Shuffle sharding: each flow is assigned a fixed hand of a few queues. Two flows may share some queues but
 * rarely all, so a flow that floods its queues leaves the others at least one free queue.
 */
import { createHash } from 'node:crypto'

/** `handSize` distinct numbers in [0, queues). */
export function shuffleShard(flow: string, queues: number, handSize: number): readonly number[] {
  let entropy = createHash('sha256').update(flow).digest().readBigUInt64BE()
  const left = Array.from({ length: queues }, (_, index) => index)
  return Array.from({ length: Math.min(handSize, queues) }, () => {
    const size = BigInt(left.length)
    const [card] = left.splice(Number(entropy % size), 1)
    entropy /= size
    return card!
  })
}
