import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Container, Pod } from '#/api/generated/core/v1.ts'
import type { DeviceClass } from '#/api/generated/resource/v1.ts'
import { stored } from '../../test-cluster.ts'
import { extendedRequests } from './extended-resources.ts'

const gpu = 'example.com/gpu'
const gpuClass = stored<DeviceClass>({ metadata: { name: 'gpu' }, spec: {} })

/** `name:2`, `name:2+cpu`; with prefix `>` an init container, with `>>` a sidecar container. */
function parsePod(text: string): Pod {
  const all = text.split(' ').map(word => {
    const [, sign, name = '', count = '', more] = /^(>{0,2})(\w+):(\d+)(\+cpu)?$/.exec(word) ?? []
    const requests = { [gpu]: count, ...(more && { cpu: '1' }) }
    const container: Container = {
      name,
      image: 'i',
      resources: { requests },
      ...(sign === '>>' && { restartPolicy: 'Always' }),
    }
    return { isInit: sign !== '', container }
  })
  const of = (isInit: boolean): Container[] =>
    all.filter(each => each.isInit === isInit).map(({ container }) => container)
  return { metadata: { name: 'p' }, spec: { initContainers: of(true), containers: of(false) } }
}

/** Expected: `request=count`, then `container>request`. */
function check(text: string, requests: string, mappings: string): void {
  const made = extendedRequests(parsePod(text), [gpu], () => gpuClass)
  const short = (name: string): string => name.replace(/^container-(\d+)-request-(\d+)$/, '$1.$2')
  assert.equal(
    made.requests.map(({ name, exactly }) => `${short(name)}=${exactly?.count}`).join(' '),
    requests,
  )
  assert.equal(
    made.mappings.map(({ containerName, requestName }) => `${containerName}>${short(requestName)}`).join(' '),
    mappings,
  )
}

test('regular containers and sidecars have requests of their own', () => {
  check('a:1', '0.0=1', 'a>0.0')
  check('a:1+cpu b:2', '0.1=1 1.0=2', 'a>0.1 b>1.0')
  check('a:0 b:2', '1.0=2', 'b>1.0')
  check('>>a:1 b:1', '0.0=1 1.0=1', 'a>0.0 b>1.0')
})

test('init containers reuse requests of later containers and share additional ones', () => {
  check('>a:1 b:1', '1.0=1', 'b>1.0 a>1.0')
  check('>a:3 b:1', '0.0=2 1.0=1', 'b>1.0 a>1.0 a>0.0')
  check('>a:2 >b:3', '1.0=3', 'a>1.0 b>1.0')
  check('>a:1 >b:3 c:1', '1.0=2 2.0=1', 'c>2.0 a>2.0 b>2.0 b>1.0')
  check('>>a:2 >b:1', '0.0=2 1.0=1', 'a>0.0 b>1.0')
})
