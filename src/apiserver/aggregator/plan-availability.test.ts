import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Service } from '#/api/generated/core/v1.ts'
import type { EndpointSlice } from '#/api/generated/discovery/v1.ts'
import { planAvailability } from './plan-availability.ts'

const reference = { namespace: 'metrics', name: 'api', port: 443 }

function service(spec: object): Service {
  return {
    metadata: {},
    spec: { type: 'ClusterIP', ports: [{ name: 'https', port: 443 }], ...spec },
  }
}

/** `ready`, `unready` or `unknown` endpoints, and the name of the port. */
function slice(port: string | undefined, ...endpoints: readonly string[]): EndpointSlice {
  return {
    metadata: {},
    addressType: 'IPv4',
    endpoints: endpoints.map(each => ({
      addresses: ['10.0.0.1'],
      conditions: each === 'unknown' ? {} : { ready: each === 'ready' },
    })),
    ports: [{ ...(port !== undefined && { name: port }), port: 6443 }],
  }
}

test('availability follows the service and its endpoints; a server with endpoints has to be asked', () => {
  const check = (
    given: Service | undefined,
    slices: readonly EndpointSlice[],
    expected: string | undefined,
  ): void => {
    const found = planAvailability({ reference, service: given, slices })
    assert.equal(found && `${found.status} ${found.reason}: ${found.message}`, expected)
  }
  const ready = slice('https', 'ready')
  check(undefined, [ready], 'False ServiceNotFound: service/api in "metrics" is not present')
  const elsewhere = service({ ports: [{ port: 80 }] })
  check(elsewhere, [ready], 'False ServicePortError: service/api in "metrics" is not listening on port 443')
  const without = 'cannot find endpointslices for service/api in "metrics"'
  check(service({}), [], `False EndpointsNotFound: ${without}`)
  const missing = 'endpointslices for service/api in "metrics" have no addresses with port name "https"'
  for (const slices of [
    [slice('https')],
    [slice('https', 'unready')],
    [slice('http', 'ready')],
    [slice('https', 'unready'), slice('http', 'ready')],
  ]) {
    check(service({}), slices, `False MissingEndpoints: ${missing}`)
  }
  check(service({}), [ready], undefined)
  check(service({}), [slice('https', 'unready'), slice('https', 'unknown')], undefined)
  check(service({ ports: [{ port: 443 }] }), [slice(undefined, 'ready')], undefined)
  check(service({ type: 'ExternalName', ports: [] }), [], undefined)
  check(service({ type: 'NodePort', ports: [] }), [], undefined)
})
