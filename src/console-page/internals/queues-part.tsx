import { useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import { FilterField } from '../components/filter-field.tsx'
import { Grid, type GridColumn } from '../components/grid.tsx'
import { PolledState } from '../components/polled-state.tsx'
import type { Sample } from '../format/sample-series.ts'
import { replaceQuery, route } from '../router/router.ts'
import {
  componentsPath,
  useComponentState,
  type ComponentState,
  type WorkQueueState,
} from './component-state.ts'
import { formatRate, ratesOf } from './counter-series.ts'
import { Sparkline } from './sparkline.tsx'
import { useSeries } from './use-series.ts'

interface QueueRow extends WorkQueueState {
  /** Keys done per second. */
  readonly rates: readonly Sample[]
}

/** The scheduling queue, and the work queues of the controllers. */
export function QueuesPart(): JSX.Element {
  const polled = useComponentState()
  const done = useSeries(polled, doneByQueue)
  const lengths = useSeries(polled, ({ schedulingQueue }) => Object.entries(schedulingQueue))
  const cursor = useSignal<string | undefined>(undefined)
  const { filter = '' } = route.value.query
  const rows = (polled.data?.workQueues ?? [])
    .filter(({ name }) => name.includes(filter.toLowerCase()))
    .map((queue): QueueRow => ({ ...queue, rates: ratesOf(done.get(queue.name) ?? []) }))
    .sort((left, right) => (left.name < right.name ? -1 : 1))
  return (
    <>
      <PolledState polled={polled} path={componentsPath} what="the state of components" />
      {polled.data ? (
        <>
          <h2>Scheduling queue</h2>
          <dl class="tiles">
            {Array.from(lengths, ([name, samples]) => (
              <div key={name}>
                <dt>{queueParts[name] ?? name}</dt>
                <dd>
                  {samples.at(-1)?.value ?? 0} <Sparkline samples={samples} />
                </dd>
              </div>
            ))}
          </dl>
          <div class="view-header">
            <h2>Work queues</h2>
            <span class="count">{rows.length}</span>
            <span class="view-header-space" />
            <FilterField label="Filter" value={filter} onInput={text => replaceQuery({ filter: text })} />
          </div>
          <Grid
            label="Work queues"
            columns={columns}
            rows={rows}
            keyOf={({ name }) => name}
            cursor={cursor}
          />
        </>
      ) : null}
    </>
  )
}

const queueParts: Readonly<Record<string, string>> = {
  active: 'Active',
  backoff: 'Backoff',
  unschedulable: 'Unschedulable',
  gated: 'Gated',
  inFlight: 'In flight',
}

function doneByQueue({ workQueues }: ComponentState): [string, number][] {
  return workQueues.map(({ name, done }) => [name, done])
}

const columns: readonly GridColumn<QueueRow>[] = [
  { title: 'Queue', width: 22, grows: true, cell: ({ name }) => <span title={name}>{name}</span> },
  {
    title: 'Depth',
    width: 3,
    isNumber: true,
    description: 'Keys that are ready',
    cell: ({ depth }) => depth,
  },
  {
    title: 'Delayed',
    width: 5,
    isNumber: true,
    description: 'Keys that are ready after a pause: after a failure, or at a set time',
    cell: ({ delayed }) => delayed,
  },
  {
    title: 'In work',
    width: 6,
    isNumber: true,
    description: 'Keys being processed, and for how long the oldest',
    cell: ({ processing, longestRunningProcessorMs }) =>
      processing === 0 ? 0 : `${processing} (${formatMs(longestRunningProcessorMs)})`,
  },
  { title: 'Done', width: 4, isNumber: true, cell: ({ done }) => done.toLocaleString('en') },
  { title: 'Retries', width: 5, isNumber: true, cell: ({ retries }) => retries.toLocaleString('en') },
  {
    title: 'Wait',
    width: 5,
    isNumber: true,
    description: 'Mean time of a key in the queue since the start',
    cell: ({ queueDurationMs, done }) => formatMean(queueDurationMs, done),
  },
  {
    title: 'Work',
    width: 5,
    isNumber: true,
    description: 'Mean time to process a key since the start',
    cell: ({ workDurationMs, done }) => formatMean(workDurationMs, done),
  },
  {
    title: 'Done/s',
    width: 13,
    description: 'Keys done per second, and in the last minutes',
    cell: ({ rates }) => (
      <span class="with-sparkline">
        <span>{formatRate(rates.at(-1)?.value)}</span>
        <Sparkline samples={rates} />
      </span>
    ),
  },
]

function formatMean(totalMs: number, count: number): string {
  return count === 0 ? '' : formatMs(totalMs / count)
}

function formatMs(milliseconds: number): string {
  if (milliseconds < 10) return `${milliseconds.toFixed(1)} ms`
  return milliseconds < 10_000 ? `${Math.round(milliseconds)} ms` : `${Math.round(milliseconds / 1_000)} s`
}
