import type { HistoryRecord } from '#/simulation/history/history.ts'

/** The longest time between two acknowledged writes while a fault of each kind was there, in milliseconds. */
export function writeGaps(history: readonly HistoryRecord[]): ReadonlyMap<string, number> {
  const writtenMs = history
    .flatMap(record => (isAcknowledgedWrite(record) ? record.returnMs : []))
    .sort((left, right) => left - right)
  const gaps = new Map<string, number>()
  for (const record of history) {
    if (record.type !== 'fault') continue
    const { kind, startMs, endMs } = record
    for (const [index, atMs] of writtenMs.entries()) {
      const beforeMs = writtenMs[index - 1] ?? atMs
      if (atMs < startMs || beforeMs > endMs) continue
      gaps.set(kind, Math.max(gaps.get(kind) ?? 0, atMs - beforeMs))
    }
  }
  return gaps
}

function isAcknowledgedWrite(
  record: HistoryRecord,
): record is Extract<HistoryRecord, { readonly type: 'operation' }> {
  return record.type === 'operation' && record.verb !== 'get' && record.outcome.type === 'ok'
}
