import type { JSX } from 'preact'
import { PolledState } from '../components/polled-state.tsx'
import { usePolled } from '../data/use-polled.ts'
import { formatRate, ratesOf } from './counter-series.ts'
import { parsePriorityLevels, type PriorityLevels } from './priority-levels.ts'
import { Sparkline } from './sparkline.tsx'
import { useSeries } from './use-series.ts'

const path = '/debug/api_priority_and_fairness/dump_priority_levels'
const intervalMs = 3_000

/** API Priority and Fairness: what each priority level executes, queues and rejects. */
export function FairnessPart(): JSX.Element {
  const polled = usePolled({ path, intervalMs, read: readLevels })
  const { titles, levels } = polled.data ?? noLevels
  const series = useSeries(polled, data => data.levels.map(({ name, dispatched }) => [name, dispatched]))
  return (
    <>
      <h2>Priority levels</h2>
      <p class="detail">
        Requests of each level: waiting and executing now, the other numbers since the start.
      </p>
      <PolledState polled={polled} path={path} what="API Priority and Fairness" />
      {levels.length > 0 ? (
        // A region that scrolls must be reachable with the keyboard.
        // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex
        <div class="card table-scroll" role="region" aria-label="Priority levels" tabIndex={0}>
          <table class="table is-numeric is-nowrap">
            <thead>
              <tr>
                <th scope="col">Priority level</th>
                {titles.map(title => (
                  <th key={title} scope="col">
                    {title}
                  </th>
                ))}
                <th scope="col">Per second</th>
                <th scope="col">Last minutes</th>
              </tr>
            </thead>
            <tbody>
              {levels.map(({ name, cells }) => {
                const rates = ratesOf(series.get(name) ?? [])
                return (
                  <tr key={name}>
                    <th scope="row">{name}</th>
                    {cells.map((cell, index) => (
                      <td key={titles[index]}>{cell}</td>
                    ))}
                    <td>{formatRate(rates.at(-1)?.value)}</td>
                    <td>
                      <Sparkline samples={rates} />
                    </td>
                  </tr>
                )
              })}
            </tbody>
          </table>
        </div>
      ) : null}
    </>
  )
}

const noLevels: PriorityLevels = { titles: [], levels: [] }

async function readLevels(response: Response): Promise<PriorityLevels> {
  return parsePriorityLevels(await response.text())
}
