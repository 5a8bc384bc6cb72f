/** PodLogOptions from the query. */
import { badRequest } from '#/api/errors.ts'
import { forbiddenField, invalid, invalidObject, notSupported, type FieldError } from '#/api/field-error.ts'
import { isTime } from '#/api/text/time.ts'
import { integerParameter } from '../handlers/request-scope.ts'
import { isTrue } from '../request-info.ts'

export interface LogOptions {
  readonly container: string
  readonly follow: boolean
  readonly previous: boolean
  readonly timestamps: boolean
  readonly sinceSeconds: number | undefined
  readonly sinceTime: string | undefined
  readonly tailLines: number | undefined
  readonly limitBytes: number | undefined
  readonly stream: string
  readonly insecureSkipTlsVerifyBackend: boolean
}

const streams = ['All', 'Stderr', 'Stdout']

/** Throws ApiError 400 or 422. */
export function readLogOptions(query: URLSearchParams, pod: string): LogOptions {
  const options: LogOptions = {
    container: query.get('container') ?? '',
    follow: isTrue(query.get('follow')),
    previous: isTrue(query.get('previous')),
    timestamps: isTrue(query.get('timestamps')),
    sinceSeconds: integerParameter(query, 'sinceSeconds'),
    sinceTime: query.get('sinceTime') || undefined,
    tailLines: integerParameter(query, 'tailLines'),
    limitBytes: integerParameter(query, 'limitBytes'),
    stream: query.get('stream') || 'All',
    insecureSkipTlsVerifyBackend: isTrue(query.get('insecureSkipTLSVerifyBackend')),
  }
  if (options.sinceTime !== undefined && !isTime(options.sinceTime)) {
    const text = JSON.stringify(options.sinceTime.slice(0, 100))
    throw badRequest(`parsing time ${text} as "2006-01-02T15:04:05Z07:00": cannot parse ${text} as "2006"`)
  }
  const errors = validateLogOptions(options)
  if (errors.length > 0) throw invalidObject({ group: '', kind: 'PodLogOptions', name: pod }, errors)
  return options
}

function validateLogOptions(options: LogOptions): FieldError[] {
  const { sinceSeconds, sinceTime, tailLines, limitBytes, stream } = options
  const errors: FieldError[] = []
  if (tailLines !== undefined && tailLines < 0)
    errors.push(invalid('tailLines', tailLines, 'must be greater than or equal to 0'))
  if (limitBytes !== undefined && limitBytes < 1)
    errors.push(invalid('limitBytes', limitBytes, 'must be greater than 0'))
  if (sinceSeconds !== undefined && sinceTime !== undefined) {
    const detail = 'at most one of `sinceTime` or `sinceSeconds` may be specified'
    errors.push(forbiddenField('', detail))
  } else if (sinceSeconds !== undefined && sinceSeconds < 1)
    errors.push(invalid('sinceSeconds', sinceSeconds, 'must be greater than 0'))
  if (!streams.includes(stream)) errors.push(notSupported('stream', stream, streams))
  if (stream !== 'All' && tailLines !== undefined) {
    const detail = '`tailLines` and specific `stream` are mutually exclusive for now'
    errors.push(forbiddenField('', detail))
  }
  return errors
}

/** The query for the kubelet's log endpoint. */
export function kubeletLogQuery(options: LogOptions): string {
  const { follow, previous, timestamps, sinceSeconds, sinceTime, tailLines, limitBytes, stream } = options
  const given = {
    sinceSeconds,
    sinceTime,
    tailLines,
    limitBytes,
    stream: stream === 'All' ? undefined : stream,
  }
  const query = new URLSearchParams()
  for (const [name, isSet] of Object.entries({ follow, previous, timestamps })) {
    if (isSet) query.set(name, 'true')
  }
  for (const [name, value] of Object.entries(given)) if (value !== undefined) query.set(name, String(value))
  return query.toString()
}
