/** A minimal selector language for tests. */
import type { DeviceSelectors, SelectableDevice } from './device-selectors.ts'

/** `device.driver == "d"` and `device.attributes["d"].name == "value"`, joined by `&&`. */
export const testSelectors: DeviceSelectors = {
  compile: expression => {
    const tests = expression.split(' && ').map(compileOne)
    return device => tests.every(test => test(device))
  },
}

function compileOne(text: string): (device: SelectableDevice) => boolean {
  const [, driver] = /^device\.driver == "(.*)"$/.exec(text) ?? []
  if (driver !== undefined) return device => device.driver === driver
  const [, domain = '', name = '', value] = /^device\.attributes\["(.*)"\]\.(\w+) == "(.*)"$/.exec(text) ?? []
  if (value === undefined) throw new Error(`cannot be understood: ${text}`)
  return device => {
    const attribute = device.attributes?.[`${domain}/${name}`] ?? device.attributes?.[name]
    if (attribute === undefined) throw new Error(`no such key: ${name}`)
    return attribute.string === value
  }
}
