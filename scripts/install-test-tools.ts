/**
 * What the tests need beyond npm packages: installed here on Debian as root, or else named. Each is a command and the
 * Debian package that it comes with.
 */
import { spawnSync } from 'node:child_process'

const tools = { curl: 'curl', chromium: 'chromium' }

const missing = Object.entries(tools).filter(([command]) => spawnSync(command, ['--version']).error !== undefined)
if (missing.length > 0) {
  const packages = missing.map(([, name]) => name).join(' ')
  const canInstall = process.getuid?.() === 0 && spawnSync('apt-get', ['--version']).error === undefined
  const install = `apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install --yes --no-install-recommends ${packages}`
  if (!canInstall || spawnSync('sh', ['-c', install], { stdio: 'inherit' }).status !== 0) {
    console.error(`the tests need ${missing.map(([command]) => command).join(', ')}: install ${packages} and try again`)
    process.exit(1)
  }
}
