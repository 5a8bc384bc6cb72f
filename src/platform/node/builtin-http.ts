/**
 * `node:http` without its ES module facade: an `import` reads every export of a built-in module, and thereby loads
 * Node's implementation of fetch and WebSocket, which takes a fifth of the startup time of a small program.
 */
import type * as nodeHttp from 'node:http'

export const http: typeof nodeHttp = process.getBuiltinModule('node:http')
