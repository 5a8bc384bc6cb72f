import { useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import { useMemo } from 'preact/hooks'
import { Grid, type GridColumn } from '../components/grid.tsx'
import { StatusText } from '../components/status-text.tsx'
import { hrefOf, navigate } from '../router/router.ts'
import { decisionRows, highestScores, rejectingFilters } from './decision-rows.ts'
import type { DecisionRow, PodDecision } from './decision-rows.ts'

/** Nodes by plugins: which filter rejected a node and why, and how each plugin scored the others. */
export function DecisionMatrix({ decision }: { readonly decision: PodDecision }): JSX.Element {
  const cursor = useSignal<string | undefined>(undefined)
  const rows = useMemo(() => decisionRows(decision), [decision])
  const columns = useMemo(() => matrixColumns(decision), [decision])
  return (
    <div class="decision-matrix" style={{ '--rows': String(Math.min(rows.length, rowsMax) + 1) }}>
      <Grid
        label={`Nodes for pod ${decision.pod}`}
        columns={columns}
        rows={rows}
        keyOf={({ node }) => node}
        cursor={cursor}
        onOpen={({ node }) => navigate(hrefOfNode(node))}
      />
    </div>
  )
}

/** Rows above this number are scrolled. */
const rowsMax = 24

function hrefOfNode(node: string): string {
  return hrefOf(['nodes', '-', node])
}

function matrixColumns(decision: PodDecision): GridColumn<DecisionRow>[] {
  const highest = highestScores(decision)
  const totalMax = Math.max(...decision.scored.map(({ total }) => total), 0)
  const names = [...decision.scored, ...decision.rejected].map(({ node }) => node.length)
  const longestName = Math.max(4, ...names)
  return [
    { title: 'Node', width: Math.min(longestName, 40), cell: nodeCell },
    { title: 'Result', width: 9, cell: resultCell },
    ...rejectingFilters(decision).map(plugin => filterColumn(plugin, decision)),
    ...(highest.size === 0 ? [] : [scoreColumn('Total', totalMax, ({ total }) => total)]),
    ...Array.from(highest, ([plugin, max]) => scoreColumn(plugin, max, ({ scores }) => scores[plugin])),
    { title: '', width: 0, grows: true, cell: () => null },
  ]
}

function nodeCell({ node }: DecisionRow): JSX.Element {
  return (
    <a href={hrefOfNode(node)} tabIndex={-1}>
      {node}
    </a>
  )
}

function resultCell({ isChosen, rejection }: DecisionRow): JSX.Element {
  if (isChosen) return <StatusText tone="good" text="Chosen" />
  return rejection ? <StatusText tone="bad" text="Rejected" /> : <>Feasible</>
}

function filterColumn(plugin: string, { rejected }: PodDecision): GridColumn<DecisionRow> {
  const reasons = rejected.filter(each => each.plugin === plugin).map(each => each.reasons.join(', ').length)
  return {
    title: plugin === '' ? 'Filter' : plugin,
    width: Math.min(Math.max(plugin.length, ...reasons), 48),
    description: `Filter ${plugin}. Filters after the one that rejected a node do not run for it.`,
    cell: ({ rejection }) => {
      if (rejection === undefined) return <span class="detail">passed</span>
      if (rejection.plugin !== plugin) return <span class="detail">-</span>
      const text = rejection.reasons.join(', ')
      return <span title={text}>{text}</span>
    },
  }
}

function scoreColumn(
  title: string,
  max: number,
  scoreOf: (row: DecisionRow) => number | undefined,
): GridColumn<DecisionRow> {
  return {
    title,
    width: Math.max(title.length, 10),
    description: title === 'Total' ? 'Sum of the weighted scores' : `Score of ${title}, times its weight`,
    cell: row => {
      const score = row.rejection ? undefined : scoreOf(row)
      if (score === undefined) return null
      return (
        <span class="score" style={{ '--share': String(max > 0 ? score / max : 0) }}>
          <span class="score-value">{score}</span>
          <span class="score-bar" aria-hidden="true" />
        </span>
      )
    },
  }
}
