import type { JSX } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import type { Node } from '#/api/generated/core/v1.ts'
import { parseQuantity, tryParseQuantity } from '#/api/text/quantity.ts'
import { Plot } from '../components/plot.tsx'
import { ApiError, errorText } from '../data/api-error.ts'
import { findResource } from '../data/api-resource.ts'
import { getJson } from '../data/api-request.ts'
import { discovery } from '../data/discovery.ts'
import { formatBytes } from '../format/format-bytes.ts'
import { addSample, type Sample } from '../format/sample-series.ts'
import type { ObjectTabProps } from '../object-tabs.ts'
import { Card } from './fields.tsx'

const intervalMs = 15_000

/** NodeMetrics, or PodMetrics with its containers. */
interface Metrics {
  readonly timestamp: string
  readonly usage?: Amounts
  readonly containers?: readonly { readonly usage: Amounts }[]
}

type Amounts = Readonly<Record<string, string>>

interface Series {
  readonly cpu: readonly Sample[]
  readonly memory: readonly Sample[]
  readonly message?: string | undefined
}

/** CPU and memory of a node or pod from metrics.k8s.io, read only while the page is visible. */
export function MetricsCard(props: ObjectTabProps): JSX.Element | null {
  const { status } = props.object as { readonly status?: { readonly phase?: string } }
  const isMeasured = props.resource.kind === 'Node' || status?.phase === 'Running'
  return isMeasured && !props.isDeleted ? <Usage {...props} /> : null
}

function Usage({ resource, object }: ObjectTabProps): JSX.Element {
  const { name = '', namespace = '' } = object.metadata
  const within = namespace === '' ? '' : `/namespaces/${encodeURIComponent(namespace)}`
  const path = `/apis/metrics.k8s.io/v1beta1${within}/${resource.resource}/${encodeURIComponent(name)}`
  const { phase, resources } = discovery.value
  const isServed =
    phase !== 'ready' || findResource(resources, `${resource.resource}.metrics.k8s.io`) !== undefined
  if (!isServed) {
    return (
      <Card title="Usage">
        <p class="detail">The cluster does not serve metrics.k8s.io. Metrics Server provides it.</p>
      </Card>
    )
  }
  return <Plots path={path} resource={resource} object={object} />
}

interface PlotsProps extends Pick<ObjectTabProps, 'resource' | 'object'> {
  readonly path: string
}

function Plots({ path, resource, object }: PlotsProps): JSX.Element {
  const { cpu, memory, message } = useMetrics(path)
  const { cpu: cpuLimit, memory: memoryLimit } = resource.kind === 'Node' ? allocatableOf(object as Node) : {}
  return (
    <Card title="Usage">
      {message === undefined ? (
        <>
          <Plot title="CPU" samples={cpu} format={formatCpu} limit={cpuLimit} />
          <Plot title="Memory" samples={memory} format={formatBytes} limit={memoryLimit} />
        </>
      ) : (
        <p class="detail">{message}</p>
      )}
    </Card>
  )
}

function useMetrics(path: string): Series {
  const [series, setSeries] = useState<Series>({ cpu: [], memory: [] })
  useEffect(() => {
    const ended = new AbortController()
    const read = async (): Promise<void> => {
      if (document.visibilityState !== 'visible') return
      try {
        const metrics = await getJson<Metrics>(path, { signal: ended.signal })
        const timeMs = Date.parse(metrics.timestamp)
        const usages = metrics.usage ? [metrics.usage] : (metrics.containers ?? []).map(({ usage }) => usage)
        const sum = (name: string): number =>
          usages.reduce((total, usage) => total + amountOf(usage[name]), 0)
        setSeries(({ cpu, memory }) => ({
          cpu: addSample(cpu, { timeMs, value: sum('cpu') }),
          memory: addSample(memory, { timeMs, value: sum('memory') }),
        }))
      } catch (error) {
        if (ended.signal.aborted) return
        const isAbsent = error instanceof ApiError && error.status === 404
        const message = isAbsent
          ? 'No metrics yet: they are measured some seconds after the start of the containers.'
          : errorText(error)
        setSeries(previous => (previous.cpu.length > 0 ? previous : { ...previous, message }))
      }
    }
    setSeries({ cpu: [], memory: [] })
    void read()
    const timer = setInterval(() => void read(), intervalMs)
    return () => {
      ended.abort()
      clearInterval(timer)
    }
  }, [path])
  return series
}

function allocatableOf({ status }: Node): { readonly cpu?: number; readonly memory?: number } {
  const { cpu, memory } = status?.allocatable ?? {}
  return { ...(cpu && { cpu: amountOf(cpu) }), ...(memory && { memory: amountOf(memory) }) }
}

const nanosPerUnit = 1e9

/** In cores or bytes. */
function amountOf(quantity: string | undefined): number {
  const parsed = tryParseQuantity(quantity ?? '') ?? parseQuantity('0')
  return Number(parsed.nanos) / nanosPerUnit
}

function formatCpu(cores: number): string {
  return cores < 1 ? `${Math.round(cores * 1_000)}m` : `${cores.toFixed(cores < 10 ? 2 : 0)} cores`
}
