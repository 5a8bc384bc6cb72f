import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Pod, Service } from '#/api/generated/core/v1.ts'
import { parseAddresses } from './listen-addresses.ts'
import { parsePorts, resolvePorts } from './plan-ports.ts'

const pod: Pod = {
  metadata: { name: 'p' },
  spec: {
    containers: [
      {
        name: 'c',
        image: 'i',
        ports: [
          { name: 'http', containerPort: 8080, protocol: 'TCP' },
          { name: 'dns', containerPort: 53, protocol: 'UDP' },
          { name: 'both', containerPort: 54, protocol: 'UDP' },
          { name: 'both-tcp', containerPort: 54, protocol: 'TCP' },
        ],
      },
    ],
    initContainers: [
      { name: 'i', image: 'i', ports: [{ name: 'side', containerPort: 99, protocol: 'TCP' }] },
    ],
  },
}

const service: Service = {
  metadata: { name: 's' },
  spec: {
    clusterIP: '10.0.0.1',
    ports: [
      { name: 'web', port: 80, targetPort: 'http', protocol: 'TCP' },
      { name: 'plain', port: 81, protocol: 'TCP' },
      { name: 'other', port: 82, targetPort: 9000, protocol: 'TCP' },
      { name: 'udp', port: 53, targetPort: 53, protocol: 'UDP' },
      { name: 'lost', port: 83, targetPort: 'none', protocol: 'TCP' },
    ],
  },
}

const headless: Service = { ...service, spec: { ...service.spec!, clusterIP: 'None' } }

function resolved(text: string, of?: Service): string {
  try {
    return resolvePorts([text], { pod, service: of })[0]!
  } catch (error) {
    return (error as Error).message
  }
}

test('ports of a pod are found by name', () => {
  const check = (text: string, expected: string): void => assert.equal(resolved(text), expected)
  check('80', '80')
  check('8888:80', '8888:80')
  check(':80', ':80')
  check('http', '8080')
  check('80:http', '80:8080')
  check(':side', ':99')
  check('54', '54')
  check('53', 'UDP protocol is not supported for 53')
  check('1:dns', 'UDP protocol is not supported for dns')
  check('x', "Pod 'p' does not have a named port 'x'")
  check('80:', "Pod 'p' does not have a named port ''")
})

test('ports of a service stand for target ports', () => {
  const check = (text: string, expected: string): void => assert.equal(resolved(text, service), expected)
  check('80', '80:8080')
  check('web', '80:8080')
  check('1:web', '1:8080')
  check('81', '81')
  check(':82', ':9000')
  check('9000:other', '9000')
  check('udp', 'UDP protocol is not supported for udp')
  check('84', 'Service s does not have a service port 84')
  check('83', "Pod 'p' does not have a named port 'none'")
  check('x', "Service 's' does not have a named port 'x'")
  assert.equal(resolved('82', headless), '82')
})

test('ports are numbers from 1, or 0 for a free local one', () => {
  const check = (text: string, expected: string): void => {
    let found: string
    try {
      found = parsePorts([text])
        .map(({ local, remote }) => `${local} ${remote}`)
        .join()
    } catch (error) {
      found = (error as Error).message
    }
    assert.equal(found, expected)
  }
  check('80', '80 80')
  check('1:80', '1 80')
  check(':80', '0 80')
  check('0:80', '0 80')
  check('1:2:3', "invalid port format '1:2:3'")
  check('0', 'remote port must be > 0')
  check('x:1', `error parsing local port 'x': strconv.ParseUint: parsing "x": invalid syntax`)
  check(
    '1:65536',
    `error parsing remote port '65536': strconv.ParseUint: parsing "65536": value out of range`,
  )
})

test('addresses to listen on are IP addresses, or both of localhost', () => {
  const check = (given: readonly string[], expected: string): void => {
    const found = parseAddresses(given).map(({ host, isOptional }) => `${host}${isOptional ? '?' : ''}`)
    assert.equal(found.join(' '), expected)
  }
  check(['localhost'], '127.0.0.1? ::1?')
  check(['10.0.0.1', 'localhost', '10.0.0.1'], '10.0.0.1 127.0.0.1? ::1?')
  check(['127.0.0.1'], '127.0.0.1')
  assert.throws(() => parseAddresses(['foo']), /^Error: foo is not a valid IP$/)
  assert.throws(() => parseAddresses([]), /^Error: you must specify at least 1 address$/)
})
