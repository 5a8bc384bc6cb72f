import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Pod } from 'k8ts/api/core/v1'
import { injectAnnotation, injectSidecar, planSidecar, readTemplate } from './sidecar.ts'

const template = readTemplate({
  metadata: {},
  data: {
    template: `
initContainers: [{ name: proxy, restartPolicy: Always }]
containers: [{ name: agent }]
volumes: [{ name: config }]
`,
  },
})

const requested = { [injectAnnotation]: 'true' }

/** `init | containers | volumes`, each a list of names. */
function podOf(notation: string, annotations: Pod['metadata']['annotations'] = requested): Pod {
  const [initContainers = [], containers = [], volumes = []] = notation.split('|').map(names =>
    names
      .split(' ')
      .filter(name => name !== '')
      .map(name => ({ name })),
  )
  return { metadata: { annotations }, spec: { initContainers, containers, volumes } }
}

function notationOf({ spec }: Pod): string {
  const lists = [spec?.initContainers, spec?.containers, spec?.volumes]
  return lists.map(list => list?.map(({ name }) => name).join(' ')).join(' | ')
}

test('a pod gets the parts of the sidecar that it lacks', () => {
  const check = (before: string, after: string) => {
    const pod = podOf(before)
    const sidecar = planSidecar(pod, template)
    assert.equal(notationOf(sidecar === undefined ? pod : injectSidecar(pod, sidecar)), after)
  }
  check('| web |', 'proxy | web agent | config')
  check('migrate | web | data', 'proxy migrate | web agent | data config')
  check('proxy | web | config', 'proxy | web agent | config')
  check('proxy | web agent | config', 'proxy | web agent | config')
})

test('a sidecar that is complete or not requested is not planned', () => {
  assert.equal(planSidecar(podOf('proxy | web agent | config'), template), undefined)
  const others: readonly Record<string, string>[] = [
    {},
    { [injectAnnotation]: 'false' },
    { [injectAnnotation]: '' },
  ]
  for (const annotations of others) {
    assert.equal(planSidecar(podOf('| web |', annotations), template), undefined)
  }
  assert.equal(planSidecar({ metadata: {} }, template), undefined)
})

test('a template may lack any part, but not the key', () => {
  const empty = { initContainers: [], containers: [], volumes: [] }
  assert.deepEqual(readTemplate({ metadata: {}, data: { template: '' } }), empty)
  const metadata = { namespace: 'a', name: 'b' }
  assert.throws(() => readTemplate({ metadata }), { message: 'ConfigMap a/b has no key template' })
})
