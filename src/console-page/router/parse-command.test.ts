import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseCommand } from './parse-command.ts'

const words = {
  views: new Map([
    ['topology', 'topology'],
    ['topo', 'topology'],
  ]),
  isResource: (word: string) => ['pods', 'po', 'deployments.apps'].includes(word),
}

function check(line: string, expected: string): void {
  const { type, ...fields } = parseCommand(line, words)
  const values = Object.entries(fields).flatMap(([name, value]) =>
    value === undefined ? [] : [`${name}=${value}`],
  )
  assert.equal([type, ...values].join(' '), expected, line)
}

test('parseCommand reads views, lists, objects and namespaces', () => {
  check(':topology', 'view path=topology')
  check('topo', 'view path=topology')
  check(':pods', 'list resource=pods')
  check(':po kube-system', 'list resource=po namespace=kube-system')
  check('po all', 'list resource=po namespace=')
  check('  deployments.apps   -n shop ', 'list resource=deployments.apps namespace=shop')
  check('po/web-0', 'object resource=po name=web-0')
  check('po/web-0 -n shop', 'object resource=po namespace=shop name=web-0')
  check('ns shop', 'namespace namespace=shop')
  check('ns', 'namespace namespace=')
  check('ns all', 'namespace namespace=')
})

test('parseCommand explains what it does not understand', () => {
  check('', 'unknown message=Type a resource, a view, or ns NAMESPACE.')
  check('gizmos', 'unknown message=gizmos: no such resource or view')
  check('pods a b c', 'unknown message=b c: too many words')
})
