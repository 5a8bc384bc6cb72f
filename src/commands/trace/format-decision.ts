/** Formats a scheduling decision for `k8ts trace`. */
import type { PodDecision } from '#/scheduler/scheduler.ts'

/** Human readable: the best nodes with their scores, then the rejected nodes with the reasons. */
export function formatDecision({
  pod,
  time,
  node,
  message,
  nodes,
  evaluatedNodes,
  rejected,
  scored,
}: PodDecision): string {
  const head = [
    `pod ${pod} at ${time}: ${node === undefined ? 'unschedulable' : `scheduled to ${node}`}`,
    message,
    `${nodes} nodes, ${evaluatedNodes} evaluated, ${scored.length} feasible`,
  ]
  const plugins = [...new Set(scored.flatMap(({ scores }) => Object.keys(scores)))]
  const scores = [
    ['NODE', 'TOTAL', ...plugins],
    ...scored.map(each => [
      each.node,
      String(each.total),
      ...plugins.map(name => String(Object.hasOwn(each.scores, name) ? each.scores[name] : 0)),
    ]),
  ]
  const rejections = [
    ['NODE', 'REJECTED BY', 'REASON'],
    ...rejected.map(({ node: name, plugin, reasons }) => [name, plugin, reasons.join(', ')]),
  ]
  const tables = [
    // Scoring is skipped when only one node is feasible.
    ...(plugins.length > 0 ? ['', ...columns(scores)] : []),
    ...(rejected.length > 0 ? ['', ...columns(rejections)] : []),
  ]
  return [...head, ...tables, ''].join('\n')
}

function columns(rows: readonly (readonly string[])[]): readonly string[] {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map(row => row[column]?.length ?? 0)))
  return rows.map(row =>
    row
      .map((cell, column) => cell.padEnd((widths[column] ?? 0) + 3))
      .join('')
      .trimEnd(),
  )
}
