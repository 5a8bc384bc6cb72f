/**
 * Shuffle sharding: each flow is dealt a few of many queues, always the same ones. Two flows may share some,
 * but hardly all, so that one that floods its queues leaves every other a way around it.
 */
import { createHash } from 'node:crypto'

/** So many different numbers from 0 up to, not including, `queues`. */
export function dealHand(flow: string, queues: number, handSize: number): readonly number[] {
  let entropy = createHash('sha256').update(flow).digest().readBigUInt64BE()
  const left = Array.from({ length: queues }, (_, index) => index)
  return Array.from({ length: Math.min(handSize, queues) }, () => {
    const size = BigInt(left.length)
    const [card] = left.splice(Number(entropy % size), 1)
    entropy /= size
    return card!
  })
}
