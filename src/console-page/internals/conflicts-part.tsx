import type { JSX } from 'preact'
import { Notice } from '../components/notice.tsx'
import { PolledState } from '../components/polled-state.tsx'
import { usePolled } from '../data/use-polled.ts'
import { formatRate, ratesOf } from './counter-series.ts'
import { countConflicts, type ConflictCount } from './metric-lines.ts'
import { Sparkline } from './sparkline.tsx'
import { useSeries } from './use-series.ts'

const path = '/metrics'
const intervalMs = 5_000

/** Writes that were refused with 409, since the object had changed or existed already. */
export function ConflictsPart(): JSX.Element {
  const polled = usePolled({ path, intervalMs, read: readConflicts })
  const series = useSeries(polled, conflicts => conflicts.map(each => [keyOf(each), each.count]))
  const { data } = polled
  return (
    <>
      <h2>Conflicts</h2>
      <p class="detail">
        Requests answered with 409 since the API server started: the object had changed since it was read, or
        existed already. Clients read again and retry.
      </p>
      <PolledState polled={polled} path={path} what="metrics" />
      {data?.length === 0 ? <Notice tone="good" title="No conflicts since the API server started" /> : null}
      {data && data.length > 0 ? (
        // A region that scrolls must be reachable with the keyboard.
        // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex
        <div class="card table-scroll" role="region" aria-label="Conflicts" tabIndex={0}>
          <table class="table is-numeric">
            <thead>
              <tr>
                <th scope="col">Resource</th>
                <th scope="col">Verb</th>
                <th scope="col">Conflicts</th>
                <th scope="col">Share</th>
                <th scope="col">Per second</th>
                <th scope="col">Last minutes</th>
              </tr>
            </thead>
            <tbody>
              {data.map(each => {
                const rates = ratesOf(series.get(keyOf(each)) ?? [])
                return (
                  <tr key={keyOf(each)}>
                    <th scope="row">{each.resource}</th>
                    <td>{each.verb}</td>
                    <td>{each.count.toLocaleString('en')}</td>
                    <td>{`${((each.count / each.requests) * 100).toFixed(1)} %`}</td>
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

async function readConflicts(response: Response): Promise<ConflictCount[]> {
  return countConflicts(await response.text())
}

function keyOf({ resource, verb }: ConflictCount): string {
  return `${verb} ${resource}`
}
