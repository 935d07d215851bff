"""pykmip-server that speaks KMIP 2.0 and nothing before. Its arguments are those of pykmip-server."""
import sys

from kmip.core.messages import contents
from kmip.services.server import engine, server

begun = engine.KmipEngine.__init__


def of_two(self, *arguments, **named):
    begun(self, *arguments, **named)
    self._protocol_versions = [contents.ProtocolVersion(2, 0)]


engine.KmipEngine.__init__ = of_two
sys.exit(server.main())
