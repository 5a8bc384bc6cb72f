import assert from 'node:assert/strict'
import { test } from 'node:test'
import { portForwardCommand } from './port-forward-command.ts'

test('portForwardCommand uses a local port without privileges, and quotes names', () => {
  const check = (target: string, port: number, command: string): void =>
    assert.equal(portForwardCommand({ target, namespace: 'shop', port }), command)
  check('pod/web-0', 8080, 'kubectl -n shop port-forward pod/web-0 8080:8080')
  check('service/web', 80, 'kubectl -n shop port-forward service/web 8080:80')
  check("pod/a'b; rm", 9000, `kubectl -n shop port-forward 'pod/a'\\''b; rm' 9000:9000`)
})
